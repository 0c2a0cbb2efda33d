// Every input of the page by its JSON pointer in the request: what it holds, and its reading and writing.
import { getAt, setAt, type Json, type JsonObject } from './json.ts';
import { parseQuantity, writeQuantity, type Quantity } from './quantity.ts';
import type { MessageKey } from '../i18n/en.ts';

export type FieldKind =
  | { type: 'quantity'; quantity: Quantity }
  | { type: 'range' } // "8", "2-8", ">=2", "<=8": a pinned or bounded degree
  | { type: 'choice'; options: readonly string[] }
  | { type: 'switch' }
  | { type: 'set'; options: readonly Json[] }; // none chosen = no limit

export interface Field {
  pointer: string;
  label: MessageKey;
  kind: FieldKind;
  optional?: boolean; // empty text removes the value
}

const quantity = (pointer: string, label: MessageKey, of: Quantity = 'count', optional = false): Field =>
  ({ pointer, label, kind: { type: 'quantity', quantity: of }, optional });
const choice = (pointer: string, label: MessageKey, options: readonly string[]): Field => ({ pointer, label, kind: { type: 'choice', options } });
const toggle = (pointer: string, label: MessageKey): Field => ({ pointer, label, kind: { type: 'switch' } });
const range = (pointer: string, label: MessageKey): Field => ({ pointer, label, kind: { type: 'range' }, optional: true });
const set = (pointer: string, label: MessageKey, options: readonly Json[]): Field => ({ pointer, label, kind: { type: 'set', options } });

export const precisions = ['bf16', 'fp16', 'fp32', 'fp8', 'mxfp8', 'nvfp4'] as const;
export const attentionKernels = ['flash3', 'flash2', 'flash1', 'unfused-fused-softmax', 'unfused-torch'] as const;
export const schedules = ['1f1b', 'interleaved-1f1b', 'gpipe', 'zb-1p', 'zb-2p', 'zb-v', 'dualpipe'] as const;
export const recomputes = ['none', 'selective', 'full'] as const;
export const topologies = ['switch', 'fullMesh', 'ring', 'torus2d', 'torus3d', 'hostPcie'] as const;
export const launchers = ['none', 'megatron-lm', 'torchtitan', 'deepspeed', 'mindspeed', 'nanotron', 'colossalai', 'llm-foundry', 'internevo'] as const;

export const jobFields = {
  devices: quantity('/cluster/devices', 'field.devices'),
  sequenceLength: quantity('/job/sequenceLength', 'field.sequenceLength'),
  globalBatch: quantity('/job/globalBatchSequences', 'field.globalBatch'),
  precision: choice('/job/precision', 'field.precision', precisions),
  objective: choice('/objective', 'field.objective', ['stepTime', 'tokensPerSecondPerDevice', 'cost']),
};

export const limitFields = {
  memory: quantity('/limits/memoryFraction', 'field.memoryFraction', 'fraction'),
  launcherRules: toggle('/limits/launcherRules', 'field.launcherRules'),
  degrees: [
    range('/limits/tensor', 'degree.tensor'),
    range('/limits/pipeline', 'degree.pipeline'),
    range('/limits/data', 'degree.data'),
    range('/limits/context', 'degree.context'),
    range('/limits/expert', 'degree.expert'),
    range('/limits/expertTensor', 'degree.expertTensor'),
    range('/limits/virtualStages', 'degree.virtualStages'),
    range('/limits/microBatchSequences', 'degree.microBatch'),
  ],
  sets: [
    set('/limits/zeroStages', 'field.zeroStages', [0, 1, 2, 3]),
    set('/limits/recompute', 'field.recompute', recomputes),
    set('/limits/schedules', 'field.schedules', schedules),
  ],
};

export interface FieldGroup {
  title: MessageKey;
  fields: Field[];
}

export const modelGroups: FieldGroup[] = [
  {
    title: 'group.shape',
    fields: [
      quantity('/model/layers', 'model.layers'),
      quantity('/model/hidden', 'model.hidden'),
      quantity('/model/heads', 'model.heads'),
      quantity('/model/kvHeads', 'model.kvHeads'),
      quantity('/model/headDim', 'model.headDim'),
      quantity('/model/ffn', 'model.ffn'),
      quantity('/model/vocab', 'model.vocab'),
      toggle('/model/gatedMlp', 'model.gatedMlp'),
      toggle('/model/tiedEmbeddings', 'model.tiedEmbeddings'),
      toggle('/model/parallelBlock', 'model.parallelBlock'),
    ],
  },
  {
    title: 'group.attention',
    fields: [
      choice('/model/attention/type', 'model.attentionType', ['mha', 'gqa', 'mla']),
      quantity('/model/attention/slidingWindow', 'model.slidingWindow'),
      quantity('/model/attention/localPeriod', 'model.localPeriod'),
      toggle('/model/attention/chunked', 'model.chunked'),
      quantity('/model/attention/qLoraRank', 'model.qLoraRank'),
      quantity('/model/attention/kvLoraRank', 'model.kvLoraRank'),
      quantity('/model/attention/qkNopeHeadDim', 'model.qkNopeHeadDim'),
      quantity('/model/attention/qkRopeHeadDim', 'model.qkRopeHeadDim'),
      quantity('/model/attention/vHeadDim', 'model.vHeadDim'),
    ],
  },
  {
    title: 'group.norms',
    fields: [
      choice('/model/norm', 'model.norm', ['rms', 'layer']),
      quantity('/model/normsPerLayer', 'model.normsPerLayer'),
      toggle('/model/normBias', 'model.normBias'),
      toggle('/model/finalNorm', 'model.finalNorm'),
      toggle('/model/embeddingNorm', 'model.embeddingNorm'),
      choice('/model/qkNorm', 'model.qkNorm', ['none', 'perHead', 'fullWidth', 'perHeadDistinct', 'l2']),
      choice('/model/position', 'model.position', ['rope', 'learned', 'alibi', 'none']),
      quantity('/model/positionRows', 'model.positionRows'),
      toggle('/model/biases/qkv', 'model.biasQkv'),
      toggle('/model/biases/attentionOutput', 'model.biasAttentionOutput'),
      toggle('/model/biases/mlp', 'model.biasMlp'),
      toggle('/model/biases/lmHead', 'model.biasLmHead'),
    ],
  },
  {
    title: 'group.experts',
    fields: [
      quantity('/model/moe/experts', 'model.experts'),
      quantity('/model/moe/topK', 'model.topK'),
      quantity('/model/moe/expertFfn', 'model.expertFfn'),
      quantity('/model/moe/sharedExperts', 'model.sharedExperts'),
      quantity('/model/moe/sharedExpertFfn', 'model.sharedExpertFfn'),
      quantity('/model/moe/denseFirstLayers', 'model.denseFirstLayers'),
      quantity('/model/moe/moeEvery', 'model.moeEvery'),
      toggle('/model/moe/sharedExpertGate', 'model.sharedExpertGate'),
      toggle('/model/moe/expertBias', 'model.expertBias'),
      toggle('/model/moe/routerBias', 'model.routerBias'),
      quantity('/model/moe/imbalanceFactor', 'model.imbalanceFactor', 'factor'),
      quantity('/model/moe/capacityFactor', 'model.capacityFactor', 'factor'),
      quantity('/model/mtpLayers', 'model.mtpLayers'),
      quantity('/model/extraParameters', 'model.extraParameters'),
    ],
  },
];

const accelerator = '/cluster/accelerator';
export const clusterGroups: FieldGroup[] = [
  {
    title: 'group.network',
    fields: [
      quantity('/cluster/devicesPerNode', 'cluster.devicesPerNode'),
      quantity('/cluster/networkBytesPerSecondPerDevice', 'cluster.network', 'bytesPerSecond'),
      quantity('/cluster/networkOversubscription', 'cluster.oversubscription', 'factor'),
      quantity('/cluster/devicesPerLeaf', 'cluster.devicesPerLeaf'),
      toggle('/cluster/inNetworkReduction', 'cluster.inNetworkReduction'),
      quantity('/cluster/usdPerDeviceHour', 'cluster.usdPerDeviceHour', 'usdPerHour'),
    ],
  },
  {
    title: 'group.device',
    fields: [
      quantity(`${accelerator}/matrixFlopsPerSecond/bf16`, 'accelerator.bf16', 'flopsPerSecond'),
      quantity(`${accelerator}/matrixFlopsPerSecond/fp16`, 'accelerator.fp16', 'flopsPerSecond'),
      quantity(`${accelerator}/matrixFlopsPerSecond/fp8`, 'accelerator.fp8', 'flopsPerSecond'),
      quantity(`${accelerator}/matrixFlopsPerSecond/fp4`, 'accelerator.fp4', 'flopsPerSecond'),
      quantity(`${accelerator}/matrixFlopsPerSecond/tf32`, 'accelerator.tf32', 'flopsPerSecond'),
      quantity(`${accelerator}/matrixFlopsPerSecond/fp32`, 'accelerator.fp32', 'flopsPerSecond'),
      quantity(`${accelerator}/vectorFlopsPerSecond`, 'accelerator.vector', 'flopsPerSecond'),
      quantity(`${accelerator}/memoryBytes`, 'accelerator.memoryBytes', 'bytes'),
      quantity(`${accelerator}/memoryBytesPerSecond`, 'accelerator.memoryBandwidth', 'bytesPerSecond'),
      quantity(`${accelerator}/cacheBytes`, 'accelerator.cache', 'bytes'),
      quantity(`${accelerator}/computeUnits`, 'accelerator.computeUnits'),
      quantity(`${accelerator}/powerWatts`, 'accelerator.power', 'watts'),
      choice(`${accelerator}/scaleUpTopology`, 'accelerator.topology', topologies),
      quantity(`${accelerator}/scaleUpBytesPerSecond`, 'accelerator.scaleUp', 'bytesPerSecond'),
      quantity(`${accelerator}/scaleUpDomain`, 'accelerator.scaleUpDomain'),
      quantity(`${accelerator}/hostBytesPerSecond`, 'accelerator.host', 'bytesPerSecond'),
    ],
  },
  {
    title: 'group.efficiency',
    fields: (
      [
        ['matrixFraction', 'fraction'],
        ['matrixFractionFp8', 'fraction'],
        ['matrixFractionFp4', 'fraction'],
        ['matrixRampK', 'factor'],
        ['attentionForward', 'fraction'],
        ['attentionBackward', 'fraction'],
        ['memoryFraction', 'fraction'],
        ['kernelSeconds', 'seconds'],
        ['launchSeconds', 'seconds'],
        ['scaleUpFraction', 'fraction'],
        ['scaleUpLatencySeconds', 'seconds'],
        ['scaleOutFraction', 'fraction'],
        ['scaleOutLatencySeconds', 'seconds'],
        ['scaleOutGrowth', 'factor'],
        ['overlapContention', 'fraction'],
        ['stepSeconds', 'seconds'],
        ['jitterFraction', 'fraction'],
      ] as const
    ).map(([key, of]) => quantity(`${accelerator}/efficiency/${key}`, `efficiency.${key}`, of)),
  },
];

export const softwareGroups: FieldGroup[] = [
  {
    title: 'group.kernels',
    fields: [
      choice('/software/attentionKernel', 'software.attentionKernel', attentionKernels),
      toggle('/software/fusedNorm', 'software.fusedNorm'),
      toggle('/software/fusedMlp', 'software.fusedMlp'),
      toggle('/software/fusedCrossEntropy', 'software.fusedCrossEntropy'),
      toggle('/software/dropout', 'software.dropout'),
      toggle('/software/cudaGraphs', 'software.cudaGraphs'),
      quantity('/software/launchFactor', 'software.launchFactor', 'factor'),
      quantity('/software/launchSpreadFraction', 'software.launchSpreadFraction', 'fraction'),
      quantity('/software/vectorFactor', 'software.vectorFactor', 'factor'),
    ],
  },
  {
    title: 'group.overlap',
    fields: [
      toggle('/software/overlapTensor', 'software.overlapTensor'),
      toggle('/software/overlapData', 'software.overlapData'),
      toggle('/software/overlapParameterGather', 'software.overlapParameterGather'),
      toggle('/software/overlapPipeline', 'software.overlapPipeline'),
      toggle('/software/scatterGatherPipeline', 'software.scatterGatherPipeline'),
      toggle('/software/overlapExpert', 'software.overlapExpert'),
      toggle('/software/asyncTensorBackward', 'software.asyncTensorBackward'),
    ],
  },
  {
    title: 'group.memory',
    fields: [
      choice('/job/optimizer', 'software.optimizer', ['adam', 'sgd']),
      toggle('/software/fp32GradientAccumulation', 'software.fp32GradientAccumulation'),
      toggle('/software/pureBf16', 'software.pureBf16'),
      quantity('/software/reservedBytes', 'software.reservedBytes', 'bytes'),
      quantity('/software/allocatorFraction', 'software.allocatorFraction', 'fraction'),
      quantity('/software/vocabularyMultiple', 'software.vocabularyMultiple'),
      choice('/software/launcher', 'software.launcher', launchers),
    ],
  },
];

export const allFields: Field[] = [
  ...Object.values(jobFields),
  limitFields.memory,
  limitFields.launcherRules,
  ...limitFields.degrees,
  ...limitFields.sets,
  ...[...modelGroups, ...clusterGroups, ...softwareGroups].flatMap((group) => group.fields),
];

export const fieldAt: ReadonlyMap<string, Field> = new Map(allFields.map((field) => [field.pointer, field]));

export type FieldValue = { ok: true; value: Json | undefined } | { ok: false; reason: MessageKey };

function readRange(text: string): FieldValue {
  const clean = text.normalize('NFKC').replace(/\s+/g, '').replace(/[–—]|\.\.|to/gi, '-').replace('≤', '<=').replace('≥', '>=');
  const one = /^=?(\d+)$/.exec(clean);
  const two = /^(\d+)-(\d+)$/.exec(clean);
  const low = /^>=(\d+)$/.exec(clean) ?? /^(\d+)-$/.exec(clean);
  const high = /^<=(\d+)$/.exec(clean) ?? /^-(\d+)$/.exec(clean);
  if (one) return { ok: true, value: Number(one[1]) };
  if (two && Number(two[1]) <= Number(two[2])) return { ok: true, value: { min: Number(two[1]), max: Number(two[2]) } };
  if (low) return { ok: true, value: { min: Number(low[1]), max: 0 } };
  if (high) return { ok: true, value: { min: 0, max: Number(high[1]) } };
  return { ok: false, reason: 'parse.range' };
}

/** The JSON value of what was typed or chosen; `undefined` = leave it to the default. */
export function readField(field: Field, text: string): FieldValue {
  const kind = field.kind;
  if (text.trim() === '' && field.optional) return { ok: true, value: undefined };
  switch (kind.type) {
    case 'quantity': {
      const parsed = parseQuantity(text, kind.quantity);
      return parsed.ok ? parsed : { ok: false, reason: `parse.${parsed.reason}` };
    }
    case 'range':
      return readRange(text);
    case 'switch':
      return { ok: true, value: text === 'true' };
    case 'choice':
      return { ok: true, value: text };
    case 'set': {
      const value = JSON.parse(text) as Json[];
      return { ok: true, value: value.length > 0 ? value : undefined };
    }
  }
}

/** The text that `readField` turns back into `value`. */
export function writeField(field: Field, value: Json | undefined): string {
  const kind = field.kind;
  if (kind.type === 'set') return JSON.stringify(Array.isArray(value) ? value : []);
  if (value === undefined || value === null) return '';
  if (kind.type === 'range' && typeof value === 'object') {
    const min = Number(getAt(value, '/min') ?? 0);
    const max = Number(getAt(value, '/max') ?? 0);
    if (min === 0 && max === 0) return '';
    if (min === max) return String(min);
    if (max === 0) return `≥ ${min}`;
    return min === 0 ? `≤ ${max}` : `${min}-${max}`;
  }
  if (kind.type === 'quantity' && typeof value === 'number') return writeQuantity(value, kind.quantity);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export const setField = (request: JsonObject, field: Field, value: Json | undefined): JsonObject => setAt(request, field.pointer, value);
