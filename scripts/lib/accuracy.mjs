// The arithmetic of the accuracy report: predictions beside published measurements. No I/O.

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  if (n === 0) return null;
  return n % 2 ? sorted[(n - 1) / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
};
const mean = (values) => (values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length);
// Nearest-rank percentile, q in 0..1.
const percentile = (values, q) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length === 0 ? null : sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))];
};

const positive = (value) => typeof value === 'number' && Number.isFinite(value) && value > 0;

// Seconds of one measured step; null when the row does not say. `sc21` prints hardware FLOP/s, which its own formula
// turns into seconds (arXiv 2104.04473, Eq. 3: 96 B s l h^2 (1 + s/6h + V/16lh), full recomputation).
export function measuredStepSeconds(run) {
  const { measured, job, cluster, model } = run;
  if (positive(measured?.stepSeconds)) return measured.stepSeconds;
  const tokens = job.sequenceLength * job.globalBatchSequences;
  if (positive(measured?.tokensPerSecondPerDevice) && positive(tokens)) {
    return tokens / (measured.tokensPerSecondPerDevice * cluster.devices);
  }
  if (run.family === 'sc21' && positive(measured?.source_tflops_per_device)) {
    const { layers: l, hidden: h, vocab: v } = model;
    const s = job.sequenceLength;
    const flop = 96 * job.globalBatchSequences * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
    return flop / (measured.source_tflops_per_device * 1e12 * cluster.devices);
  }
  return null;
}

// Model FLOP of one step: 6 per parameter of the products and token, and full attention. The baseline's only physics.
export function modelFlop(run) {
  const { model: m, job } = run;
  const heads = m.heads * (m.headDim ?? m.hidden / m.heads);
  const kv = (m.kvHeads ?? m.heads) * (m.headDim ?? m.hidden / m.heads);
  const attention = m.hidden * (2 * heads + 2 * kv);
  const gates = m.gatedMlp ? 3 : 2;
  const mlp = m.moe
    ? gates * m.hidden * m.moe.expertFfn * (m.moe.topK + (m.moe.sharedExperts ?? 0))
    : gates * m.hidden * m.ffn;
  const parameters = m.layers * (attention + mlp) + m.hidden * m.vocab;
  return (6 * parameters + 12 * m.layers * heads * job.sequenceLength) * job.sequenceLength * job.globalBatchSequences;
}

// Kendall's tau-b over pairs; predictions and measurements closer than 2 % are ties.
export function kendallTau(rows) {
  const order = (a, b) => (Math.abs(a / b - 1) <= 0.02 ? 0 : Math.sign(a - b));
  let agree = 0;
  let untiedPredicted = 0;
  let untiedMeasured = 0;
  for (let i = 0; i < rows.length; i += 1) {
    for (let j = i + 1; j < rows.length; j += 1) {
      const p = order(rows[i].predicted, rows[j].predicted);
      const m = order(rows[i].measured, rows[j].measured);
      agree += p * m;
      untiedPredicted += Math.abs(p);
      untiedMeasured += Math.abs(m);
    }
  }
  if (untiedMeasured === 0) return null; // nothing to order
  // a prediction that tells no pair apart orders nothing
  return untiedPredicted === 0 ? 0 : agree / Math.sqrt(untiedPredicted * untiedMeasured);
}

// How much slower than the best measured run the run is that the prediction would pick. Groups can differ in batch, so
// both are compared per token.
export function regret(rows) {
  const picked = rows.reduce((best, row) => (row.predicted / row.tokens < best.predicted / best.tokens ? row : best));
  const fastest = Math.min(...rows.map((row) => row.measured / row.tokens));
  return picked.measured / picked.tokens / fastest - 1;
}

function scoreTime(rows) {
  const families = {};
  for (const row of rows) (families[row.family] ??= []).push(Math.abs(row.predicted / row.measured - 1));
  const perFamily = Object.fromEntries(
    Object.entries(families).map(([family, errors]) => [
      family,
      { runs: errors.length, median: median(errors), mean: mean(errors), p90: percentile(errors, 0.9) },
    ]),
  );
  return {
    runs: rows.length,
    meanOfFamilyMedians: mean(Object.values(perFamily).map((family) => family.median)),
    p90: percentile(rows.map((row) => Math.abs(row.predicted / row.measured - 1)), 0.9),
    families: perFamily,
  };
}

function scoreChoice(rows) {
  const groups = {};
  for (const row of rows) (groups[row.group] ??= []).push(row);
  const scored = Object.values(groups).filter((group) => group.length >= 4);
  const byTokens = (group) =>
    group.map((row) => ({ predicted: row.predicted / row.tokens, measured: row.measured / row.tokens }));
  const taus = scored.map((group) => kendallTau(byTokens(group))).filter((tau) => tau !== null);
  const regrets = scored.map(regret);
  return {
    groups: scored.length,
    kendallTau: mean(taus),
    meanRegret: mean(regrets),
    worstRegret: regrets.length ? Math.max(...regrets) : null,
  };
}

// One rate a device type: the median over sources of the median that each source's runs reached, so that sources count
// alike here as well. What a planner without physics would say.
function baseline(rows) {
  const rates = {};
  for (const row of rows) ((rates[row.accelerator] ??= {})[row.family] ??= []).push(row.flop / (row.measured * row.devices));
  const rate = Object.fromEntries(
    Object.entries(rates).map(([accelerator, families]) => [accelerator, median(Object.values(families).map(median))]),
  );
  const predicted = rows.map((row) => ({ ...row, predicted: row.flop / (rate[row.accelerator] * row.devices) }));
  return {
    what: 'one model-FLOP rate for each accelerator, the median over sources of their medians, on these same rows',
    time: scoreTime(predicted),
    choice: scoreChoice(predicted),
  };
}

// `pairs`: [{run, answer}], run a row of the runs file and answer what the engine says of it.
export function summarize(pairs) {
  const scored = pairs.filter(({ run }) => run.grade === undefined || run.grade === 'A' || run.grade === 'B');
  const rows = [];
  const memory = {};
  const outOfMemory = { saidFitsAndDid: 0, saidFitsAndDidNot: 0, saidNotAndDid: 0, saidNotAndDidNot: 0 };
  let notRepresented = 0;
  for (const { run, answer } of scored) {
    if (!positive(answer.stepSeconds)) {
      notRepresented += 1;
      continue;
    }
    const measured = measuredStepSeconds(run);
    if (measured !== null) {
      rows.push({
        id: run.id,
        family: run.family,
        group: run.group ?? run.family,
        accelerator: run.cluster.accelerator,
        devices: run.cluster.devices,
        tokens: run.job.sequenceLength * run.job.globalBatchSequences,
        flop: modelFlop(run),
        measured,
        predicted: answer.stepSeconds,
      });
    }
    if (positive(run.measured?.peakMemoryBytes) && positive(answer.peakMemoryBytes)) {
      const allocated = /allocated/.test(run.measured.peakMemoryMethod ?? '');
      const predicted = allocated && positive(answer.allocatedMemoryBytes) ? answer.allocatedMemoryBytes : answer.peakMemoryBytes;
      (memory[run.family] ??= []).push(Math.abs(predicted / run.measured.peakMemoryBytes - 1));
    }
    const failed = run.measured?.oom === true;
    if (failed || measured !== null) {
      outOfMemory[answer.fits ? (failed ? 'saidFitsAndDidNot' : 'saidFitsAndDid') : failed ? 'saidNotAndDidNot' : 'saidNotAndDid'] += 1;
    }
  }
  return {
    rowsRead: pairs.length,
    rowsScored: scored.length,
    notRepresented,
    time: scoreTime(rows),
    choice: scoreChoice(rows),
    memory: Object.fromEntries(
      Object.entries(memory).map(([family, errors]) => [family, { runs: errors.length, median: median(errors), p90: percentile(errors, 0.9) }]),
    ),
    outOfMemory,
    baseline: baseline(rows),
  };
}
