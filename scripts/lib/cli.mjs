// Commands of scripts/meshwise. Answers go to standard output as JSON, remarks for people to standard error.
// Exit codes: 0 done, 1 internal fault, 2 bad input.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { summarize } from './accuracy.mjs';
import { EngineMissing, loadEngine, root } from './engine.mjs';

const help = `usage: scripts/meshwise COMMAND FILE [options]      (FILE "-" reads standard input)

  plan REQUEST.json        rank the strategies of a request
  estimate REQUEST.json    estimate the one strategy of a request
  explain REQUEST.json     say why the strategy of a request is where it is
  validate REQUEST.json    check a request and print it with everything resolved
  timeline REQUEST.json    tasks of the pipeline of the request's strategy
  accuracy RUNS.json [--summary] [--family NAME]...
                           predict published runs: one line a run, then the summary
  fit RUNS.json [--families A,B] [--rounds N] [--effort N] [--all] [--out FOLDER]
                           fit the presets' constants on published runs (native program; builds with NLopt).
                           Prints the result; --out rewrites the presets of that folder (the repository's: presets)

Exit codes: 0 done, 2 bad input (the faults stand on standard output as JSON), 1 internal fault.`;

const readInput = (file) => readFileSync(file === '-' ? 0 : file, 'utf8');

class BadInput extends Error {}

// A fault outside of any request document, in the form of the engine's own.
const refusal = (message) => `${JSON.stringify({ issues: [{ code: 'terminal.badInput', path: '', message, severity: 'error' }] })}\n`;

function report(text, write, warn) {
  write(`${text}\n`);
  const answer = JSON.parse(text);
  const issues = answer.issues ?? [];
  for (const issue of issues) warn(`${issue.severity} ${issue.path || '(whole document)'}: ${issue.message}\n`);
  return issues.some((issue) => issue.severity === 'error') ? 2 : 0;
}

async function accuracy(argv, write) {
  let file;
  let onlySummary = false;
  const families = new Set();
  for (let i = 0; i < argv.length; i += 1) {
    if (argv[i] === '--summary') onlySummary = true;
    else if (argv[i] === '--family' && i + 1 < argv.length) families.add(argv[(i += 1)]);
    else if (argv[i].startsWith('--')) throw new BadInput(`unknown option, or option without its value: ${argv[i]}`);
    else if (file === undefined) file = argv[i];
    else throw new BadInput(`accuracy takes one file; ${argv[i]} is one too many`);
  }
  if (file === undefined) throw new BadInput('accuracy needs a file of runs');
  let runs;
  try {
    runs = JSON.parse(readInput(file));
  } catch (error) {
    throw new BadInput(`${file}: ${error.message}`);
  }
  if (!Array.isArray(runs)) throw new BadInput(`${file}: a list of runs is expected`);
  if (families.size > 0) {
    const known = new Set(runs.map((run) => run?.family));
    for (const family of families) if (!known.has(family)) throw new BadInput(`${file}: no run is of the family ${family}`);
    runs = runs.filter((run) => families.has(run?.family));
  }
  const engine = await loadEngine();
  const pairs = [];
  for (const run of runs) {
    const line = engine.estimateRun(JSON.stringify(run));
    if (!onlySummary) write(`${line}\n`);
    if (typeof run === 'object' && run !== null) pairs.push({ run, answer: JSON.parse(line) });
  }
  write(`${JSON.stringify(summarize(pairs), null, onlySummary ? 2 : 0)}\n`);
  return 0;
}

function fit(argv, write, warn) {
  const rest = [...argv];
  const out = rest.indexOf('--out');
  const folder = out < 0 ? undefined : rest.splice(out, 2)[1];
  const [file, ...options] = rest;
  if (file === undefined || !existsSync(file)) throw new BadInput('fit needs a file of runs');
  const program = join(root, 'build', 'native-release', 'meshwise_fit');
  if (!existsSync(program)) throw new BadInput('the fit program is not built: scripts/build native (it needs NLopt)');
  const scratch = mkdtempSync(join(tmpdir(), 'meshwise-fit-'));
  try {
    const priors = join(scratch, 'catalogue.json');
    spawnSync(process.execPath, [join(root, 'scripts', 'build_catalogue.mjs'), '--priors', priors], { stdio: 'ignore' });
    const fitted = spawnSync(program, [priors, file, ...options], { encoding: 'utf8', maxBuffer: 1 << 28 });
    warn(fitted.stderr ?? '');
    if (fitted.status !== 0) return fitted.status ?? 1;
    write(fitted.stdout);
    if (folder === undefined) return 0;
    return spawnSync(process.execPath, [join(root, 'scripts', 'fit', 'apply.mjs'), '-', folder], {
      input: fitted.stdout,
      stdio: ['pipe', 'inherit', 'inherit'],
    }).status;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

// Runs one command line; returns the exit code.
export async function run(argv, { write = (text) => process.stdout.write(text), warn = (text) => process.stderr.write(text) } = {}) {
  const [command, ...rest] = argv;
  if (command === undefined || command === '--help' || command === '-h') {
    (command === undefined ? warn : write)(`${help}\n`);
    return command === undefined ? 2 : 0;
  }
  try {
    if (command === 'accuracy') return await accuracy(rest, write);
    if (command === 'fit') return fit(rest, write, warn);
    if (!['plan', 'estimate', 'explain', 'validate', 'timeline'].includes(command)) throw new BadInput(`unknown command ${command}; see --help`);
    if (rest.length !== 1) throw new BadInput(`${command} takes one file; see --help`);
    let text;
    try {
      text = readInput(rest[0]);
    } catch (error) {
      throw new BadInput(`${rest[0]}: ${error.message}`);
    }
    const engine = await loadEngine();
    return report(engine[command](text), write, warn);
  } catch (error) {
    warn(`meshwise: ${error.message}\n`);
    if (!(error instanceof BadInput || error instanceof EngineMissing)) return 1;
    write(refusal(error.message));
    return 2;
  }
}
