// The engine as a native program, for the parity test: meshwise_native CATALOGUE FUNCTION REQUEST prints the answer.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "api.h"

namespace {

std::string readFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::cerr << "cannot read " << path << '\n';
    std::exit(1);
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: meshwise_native CATALOGUE.json plan|searchJob|estimate|explain|validate|timeline|estimateRun "
                 "REQUEST.json\n";
    return 1;
  }
  meshwise::Api api;
  const std::string loaded = api.loadCatalogue(readFile(argv[1]));
  if (loaded.find("\"ok\":true") == std::string::npos) {
    std::cerr << loaded << '\n';
    return 1;
  }
  const std::string function = argv[2];
  const std::string request = readFile(argv[3]);
  std::string answer;
  if (function == "plan") {
    answer = api.plan(request);
  } else if (function == "estimate") {
    answer = api.estimate(request);
  } else if (function == "explain") {
    answer = api.explain(request);
  } else if (function == "validate") {
    answer = api.validate(request);
  } else if (function == "timeline") {
    answer = api.timeline(request);
  } else if (function == "estimateRun") {
    answer = api.estimateRun(request);
  } else if (function == "searchJob") {
    meshwise::SearchJob job(api, request);
    while (job.step(1000).find("\"done\":true") == std::string::npos) {
    }
    answer = job.take();
  } else {
    std::cerr << "unknown function " << function << '\n';
    return 1;
  }
  std::cout << answer << '\n';
  return 0;
}
