// Adds up what the test runners reported.
// Usage: node scripts/lib/count_tests.mjs REPORTS TREE...
// REPORTS holds ctest.xml, terminal.tap, vitest.json and playwright.json, as far as they ran; each build TREE holds
// reports/ with one GoogleTest file for a ctest entry that runs many cases. Prints "runner passed failed skipped" for
// each runner.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [reports, ...trees] = process.argv.slice(2);
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

function countCtest(file) {
  const count = { passed: 0, failed: 0, skipped: 0 };
  for (const [element] of readFileSync(file, 'utf8').matchAll(/<testcase [^>]*>/g)) {
    const attribute = (name) => new RegExp(`\\b${name}="([^"]*)"`).exec(element)?.[1] ?? '';
    const isPassed = attribute('status') === 'run';
    const cases = trees.map((tree) => join(tree, 'reports', `${attribute('name')}.json`)).find(existsSync);
    if (!cases) {
      count[isPassed ? 'passed' : 'failed'] += 1;
      continue;
    }
    const { tests, failures, errors, disabled } = readJson(cases);
    const failed = Math.max(failures + errors, isPassed ? 0 : 1);
    count.failed += failed;
    count.skipped += disabled;
    count.passed += tests - disabled - failed;
  }
  return count;
}

// Node's own runner ends its report with "# pass 12" and the like.
function countTap(file) {
  const report = readFileSync(file, 'utf8');
  const last = (word) => Number(new RegExp(`^# ${word} (\\d+)$`, 'm').exec(report)?.[1] ?? 0);
  return { passed: last('pass'), failed: last('fail') + last('cancelled'), skipped: last('skipped') + last('todo') };
}

function countVitest(file) {
  const report = readJson(file);
  const skipped = report.numPendingTests + (report.numTodoTests ?? 0);
  // A file that does not load fails without a test of its own.
  const failed = Math.max(report.numFailedTests, report.success ? 0 : 1);
  return { passed: report.numPassedTests, failed, skipped };
}

function countPlaywright(file) {
  const { stats, errors } = readJson(file);
  return { passed: stats.expected, failed: stats.unexpected + stats.flaky + errors.length, skipped: stats.skipped };
}

const runners = {
  ctest: ['ctest.xml', countCtest],
  terminal: ['terminal.tap', countTap],
  vitest: ['vitest.json', countVitest],
  playwright: ['playwright.json', countPlaywright],
};
for (const [runner, [name, count]] of Object.entries(runners)) {
  const file = join(reports, name);
  if (!existsSync(file)) continue;
  const { passed, failed, skipped } = count(file);
  console.log(runner, passed, failed, skipped);
}
