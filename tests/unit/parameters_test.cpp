// Exact parameter counts: single terms by hand, whole models against counts that somebody published.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "meshwise/model.h"

namespace meshwise {
namespace {

// One layer, width 8, two heads of 4, gated MLP of width 16, 10 tokens.
Model tinyModel() {
  Model m;
  m.layers = 1;
  m.hidden = 8;
  m.heads = 2;
  m.kvHeads = 2;
  m.headDim = 4;
  m.ffn = 16;
  m.vocab = 10;
  return m;
}

TEST(Parameters, TinyModelByHand) {
  const ParameterCount count = countParameters(tinyModel());
  EXPECT_EQ(count.embedding, 80);           // 10 * 8
  EXPECT_EQ(count.lmHead, 80);              // untied
  EXPECT_EQ(count.attentionPerLayer, 256);  // four 8 x 8 matrices
  EXPECT_EQ(count.denseMlpPerLayer, 384);   // three 8 x 16 matrices
  EXPECT_EQ(count.normsPerLayer, 16);       // two weights of 8
  EXPECT_EQ(count.total, 80 + 80 + 256 + 384 + 16 + 8);
  EXPECT_EQ(count.active, count.total);
  EXPECT_EQ(count.mtp, 0);
}

TEST(Parameters, GroupedQueriesShrinkKeysAndValuesOnly) {
  Model m = tinyModel();
  m.kvHeads = 1;
  EXPECT_EQ(countParameters(m).attentionPerLayer, 8 * 8 + 2 * 8 * 4 + 8 * 8);
}

TEST(Parameters, EveryBiasIsCountedOnce) {
  Model m = tinyModel();
  m.biases = {true, true, true, true};
  m.normBias = true;
  const ParameterCount count = countParameters(m);
  EXPECT_EQ(count.attentionPerLayer, 256 + 24 + 8);
  EXPECT_EQ(count.denseMlpPerLayer, 384 + 2 * 16 + 8);
  EXPECT_EQ(count.normsPerLayer, 32);
  EXPECT_EQ(count.lmHead, 80 + 10);
  EXPECT_EQ(count.total, 80 + 90 + 288 + 424 + 32 + 16);
}

TEST(Parameters, QueryKeyNormsByKind) {
  Model m = tinyModel();
  m.kvHeads = 1;
  const std::int64_t plain = countParameters(m).attentionPerLayer;
  const auto extra = [&](QkNorm kind) {
    m.qkNorm = kind;
    return countParameters(m).attentionPerLayer - plain;
  };
  EXPECT_EQ(extra(QkNorm::PerHead), 2 * 4);
  EXPECT_EQ(extra(QkNorm::FullWidth), 8 + 4);
  EXPECT_EQ(extra(QkNorm::PerHeadDistinct), 2 * 4 + 1 * 4);
  EXPECT_EQ(extra(QkNorm::L2), 0);
}

TEST(Parameters, LearnedPositionsJoinTheEmbedding) {
  Model m = tinyModel();
  m.positionRows = 5;
  EXPECT_EQ(countParameters(m).embedding, 80);  // rope has no table
  m.position = Position::Learned;
  EXPECT_EQ(countParameters(m).embedding, 120);
}

TEST(Parameters, ExpertsOnEverySecondLayerAfterTheDenseOnes) {
  Model m = tinyModel();
  m.layers = 5;
  m.moe.experts = 4;
  m.moe.topK = 1;
  m.moe.expertFfn = 2;
  m.moe.sharedExperts = 1;
  m.moe.denseFirstLayers = 1;
  m.moe.moeEvery = 2;
  m.moe.routerBias = true;
  m.moe.sharedExpertGate = true;
  const ParameterCount count = countParameters(m);
  // Layers 2 and 4. An expert has 3 * 8 * 2 = 48; router 8 * 4 + 4, shared expert 48, gate 8.
  EXPECT_EQ(count.moeMlpPerLayer, 4 * 48 + 36 + 48 + 8);
  EXPECT_EQ(count.total, 80 + 80 + 5 * (256 + 16) + 3 * 384 + 2 * 284 + 8);
  EXPECT_EQ(count.total - count.active, 2 * 3 * 48);
}

TEST(Parameters, PredictionModuleIsALayerAndAProjection) {
  Model m = tinyModel();
  m.mtpLayers = 2;
  const ParameterCount count = countParameters(m);
  EXPECT_EQ(count.mtp, 2 * (256 + 16 + 384 + 2 * 8 * 8 + 3 * 8));
  EXPECT_EQ(count.total, countParameters(tinyModel()).total);
}

struct Published {
  const char* name;
  std::int64_t total;
  void (*shape)(Model&);
  std::int64_t mtp = 0;
};

void llamaShape(Model& m, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t kvHeads,
                std::int64_t ffn, std::int64_t vocab) {
  m.layers = layers;
  m.hidden = hidden;
  m.heads = heads;
  m.kvHeads = kvHeads;
  m.headDim = hidden / heads;
  m.ffn = ffn;
  m.vocab = vocab;
}

void moeShape(Model& m, std::int64_t experts, std::int64_t topK, std::int64_t expertFfn) {
  m.moe.experts = experts;
  m.moe.topK = topK;
  m.moe.expertFfn = expertFfn;
}

void gptShape(Model& m) {
  m.gatedMlp = false;
  m.norm = Norm::Layer;
  m.normBias = true;
  m.biases.qkv = m.biases.attentionOutput = m.biases.mlp = true;
}

const Published kPublished[] = {
    // keras-team/keras-hub, gpt2_presets.py.
    {"Gpt2Small", 124439808,
     [](Model& m) {
       llamaShape(m, 12, 768, 12, 12, 3072, 50257);
       gptShape(m);
       m.tiedEmbeddings = true;
       m.position = Position::Learned;
       m.positionRows = 1024;
     }},
    // Read-me of EleutherAI/gpt-j-6b as printed by a parameter listing: one norm, biases in the MLP and the head only.
    {"GptJ6b", 6050882784,
     [](Model& m) {
       llamaShape(m, 28, 4096, 16, 16, 16384, 50400);
       m.gatedMlp = false;
       m.norm = Norm::Layer;
       m.normBias = true;
       m.normsPerLayer = 1;
       m.parallelBlock = true;
       m.biases.mlp = m.biases.lmHead = true;
     }},
    // BLOOM paper, arXiv 2211.05100: norm after the embedding, ALiBi.
    {"Bloom176b", 176247271424,
     [](Model& m) {
       llamaShape(m, 70, 14336, 112, 112, 57344, 250880);
       gptShape(m);
       m.tiedEmbeddings = true;
       m.position = Position::Alibi;
       m.embeddingNorm = true;
     }},
    // keras-team/keras-hub, llama_presets.py.
    {"Llama2Of7b", 6738415616, [](Model& m) { llamaShape(m, 32, 4096, 32, 32, 11008, 32000); }},
    // Safetensors total of the hub.
    {"Llama3Of8b", 8030261248, [](Model& m) { llamaShape(m, 32, 4096, 32, 8, 14336, 128256); }},
    // Safetensors total of the hub: norms of each head.
    {"Qwen3Of8b", 8190735360,
     [](Model& m) {
       llamaShape(m, 36, 4096, 32, 8, 12288, 151936);
       m.qkNorm = QkNorm::PerHead;
     }},
    // Safetensors total of the hub: norms over the full projection.
    {"Olmo2Of7b", 7298617344,
     [](Model& m) {
       llamaShape(m, 32, 4096, 32, 32, 11008, 100352);
       m.qkNorm = QkNorm::FullWidth;
     }},
    // keras-team/keras-hub, gemma_presets.py: four norms a layer, heads wider than hidden / heads.
    {"Gemma2Of2b", 2614341888,
     [](Model& m) {
       llamaShape(m, 26, 2304, 8, 4, 9216, 256000);
       m.headDim = 256;
       m.tiedEmbeddings = true;
       m.normsPerLayer = 4;
     }},
    // Safetensors total of the hub less the second copy of the tied head, 65024 * 4544: one key-value head.
    {"Falcon7b", 7217189760 - 295469056,
     [](Model& m) {
       llamaShape(m, 32, 4544, 71, 1, 18176, 65024);
       m.gatedMlp = false;
       m.norm = Norm::Layer;
       m.normBias = true;
       m.normsPerLayer = 1;
       m.parallelBlock = true;
       m.tiedEmbeddings = true;
     }},
    // keras-team/keras-hub, mixtral_presets.py.
    {"Mixtral8x7b", 46702792704,
     [](Model& m) {
       llamaShape(m, 32, 4096, 32, 8, 14336, 32000);
       moeShape(m, 8, 2, 14336);
     }},
    // Safetensors total of the hub: shared expert of width 20480 behind a gate, biases of queries, keys and values.
    {"Qwen2Of57bA14b", 57408658944,
     [](Model& m) {
       llamaShape(m, 28, 3584, 28, 4, 18944, 151936);
       m.biases.qkv = true;
       moeShape(m, 64, 8, 2560);
       m.moe.sharedExperts = 1;
       m.moe.sharedExpertFfn = 20480;
       m.moe.sharedExpertGate = true;
     }},
    // Safetensors total of the hub: biases in router and experts, one sink a head and layer.
    {"GptOss20b", 20914757184,
     [](Model& m) {
       llamaShape(m, 24, 2880, 64, 8, 2880, 201088);
       m.headDim = 64;
       m.biases.qkv = m.biases.attentionOutput = true;
       moeShape(m, 32, 4, 2880);
       m.moe.expertBias = m.moe.routerBias = true;
       m.extraParameters = 24 * 64;
     }},
    // Safetensors total of the hub less the vision tower of 871,932,416: every second layer is a mixture.
    {"Llama4Maverick", 401583781376 - 871932416,
     [](Model& m) {
       llamaShape(m, 48, 5120, 40, 8, 16384, 202048);
       moeShape(m, 128, 1, 8192);
       m.moe.sharedExperts = 1;
       m.moe.sharedExpertFfn = 8192;
       m.moe.moeEvery = 2;
     }},
    // Safetensors total of a bf16 copy without MTP; with MTP and its copies of embedding and head R1 has
    // 684,489,845,504 = 671,026,419,200 + 11,610,068,224 + 2 * 129280 * 7168.
    {"DeepSeekV3", 671026419200,
     [](Model& m) {
       llamaShape(m, 61, 7168, 128, 128, 18432, 129280);
       m.headDim = 192;
       m.attention.type = AttentionType::Mla;
       m.attention.qLoraRank = 1536;
       m.attention.kvLoraRank = 512;
       m.attention.qkNopeHeadDim = 128;
       m.attention.qkRopeHeadDim = 64;
       m.attention.vHeadDim = 128;
       moeShape(m, 256, 8, 2048);
       m.moe.sharedExperts = 1;
       m.moe.denseFirstLayers = 3;
       m.moe.routerBias = true;
       m.mtpLayers = 1;
     },
     684489845504 - 671026419200 - 2 * std::int64_t{129280} * 7168},
};

class PublishedParameters : public testing::TestWithParam<Published> {};

TEST_P(PublishedParameters, AreReproducedExactly) {
  Model model;
  GetParam().shape(model);
  const ParameterCount count = countParameters(model);
  EXPECT_EQ(count.total, GetParam().total);
  EXPECT_EQ(count.mtp, GetParam().mtp);
}

INSTANTIATE_TEST_SUITE_P(Models, PublishedParameters, testing::ValuesIn(kPublished),
                         [](const testing::TestParamInfo<Published>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace meshwise
