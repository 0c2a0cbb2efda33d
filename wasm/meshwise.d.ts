/**
 * The Meshwise engine as a WebAssembly module.
 *
 * Everything crosses as JSON text, so that the page, the terminal, a link and a file hold the same documents. Each
 * function returns one JSON document and never throws; what is wrong with the input is in its `issues`. Only a trap or
 * a lack of memory escapes as an exception: then throw the instance away and make a new one.
 *
 * Units are base units, named in the key: seconds, bytes, bytes per second, FLOP per second, watts, US dollars an hour.
 * A key that ends in Fraction is in 0..1. `null` and an absent key both mean "not stated": the preset's value, else the
 * default.
 */

export type Severity = 'error' | 'warning' | 'note';

/** One fault of the input, or a remark about it. */
export interface Issue {
  /** Stable machine name, for example "field.range" or "strategy.worldSize". */
  code: string;
  /** JSON pointer (RFC 6901) to the field of the request; "" is the whole document. */
  path: string;
  /** One English sentence with what is allowed and what was got. */
  message: string;
  severity: Severity;
}

export type AttentionType = 'mha' | 'gqa' | 'mla';
export type Position = 'rope' | 'learned' | 'alibi' | 'none';
export type Norm = 'rms' | 'layer';
export type QkNorm = 'none' | 'perHead' | 'fullWidth' | 'perHeadDistinct' | 'l2';
export type Topology = 'switch' | 'fullMesh' | 'ring' | 'torus2d' | 'torus3d' | 'hostPcie';
export type Precision = 'fp32' | 'fp16' | 'bf16' | 'fp8' | 'mxfp8' | 'nvfp4';
export type AttentionKernel = 'flash1' | 'flash2' | 'flash3' | 'unfused-fused-softmax' | 'unfused-torch';
export type Launcher =
  | 'none'
  | 'megatron-lm'
  | 'torchtitan'
  | 'deepspeed'
  | 'mindspeed'
  | 'nanotron'
  | 'colossalai'
  | 'llm-foundry'
  | 'internevo';
export type Recompute = 'none' | 'selective' | 'full';
export type RecomputeModule = 'core_attn' | 'mlp' | 'layernorm' | 'moe_act' | 'mla_up_proj';
export type Schedule = '1f1b' | 'gpipe' | 'interleaved-1f1b' | 'zb-1p' | 'zb-2p' | 'zb-v' | 'dualpipe';
export type Objective = 'stepTime' | 'tokensPerSecondPerDevice' | 'cost';

/** Every field may be left out or null. */
type Partial_<T> = { [K in keyof T]?: (T[K] extends object ? Partial_<T[K]> : T[K]) | null };

export interface Model {
  /** Id of the preset that it started from; a label in resolved requests. */
  preset?: string;
  name: string;
  layers: number;
  /** Width of the residual stream. */
  hidden: number;
  heads: number;
  /** Default: heads. */
  kvHeads: number;
  /** Default: hidden / heads. */
  headDim: number;
  /** Width of the MLP of dense layers. */
  ffn: number;
  /** Rows of the token table before padding. */
  vocab: number;
  gatedMlp: boolean;
  tiedEmbeddings: boolean;
  position: Position;
  /** Rows of a learned position table; 0: the job's sequence length. */
  positionRows: number;
  /** Default: "layer" with learned positions or without gatedMlp, else "rms". */
  norm: Norm;
  normBias: boolean;
  normsPerLayer: number;
  finalNorm: boolean;
  embeddingNorm: boolean;
  qkNorm: QkNorm;
  /** Attention and MLP read the same normalized input. */
  parallelBlock: boolean;
  mtpLayers: number;
  extraParameters: number;
  maxSequenceLength: number;
  biases: { qkv: boolean; attentionOutput: boolean; mlp: boolean; lmHead: boolean };
  attention: {
    type: AttentionType;
    qLoraRank: number;
    kvLoraRank: number;
    qkNopeHeadDim: number;
    qkRopeHeadDim: number;
    vHeadDim: number;
    slidingWindow: number;
    localPeriod: number;
    chunked: boolean;
  };
  /** experts 0: a dense model. */
  moe: {
    experts: number;
    topK: number;
    expertFfn: number;
    sharedExperts: number;
    sharedExpertFfn: number;
    denseFirstLayers: number;
    moeEvery: number;
    sharedExpertGate: boolean;
    expertBias: boolean;
    routerBias: boolean;
    /** Load of the busiest expert-parallel rank over the mean; >= 1. */
    imbalanceFactor: number;
    /** 0: dropless. */
    capacityFactor: number;
  };
}

export interface Efficiency {
  matrixFraction: number;
  matrixFractionFp8: number;
  matrixFractionFp4: number;
  /** K of a matrix product at which it reaches half of its asymptote. */
  matrixRampK: number;
  attentionForward: number;
  attentionBackward: number;
  memoryFraction: number;
  kernelSeconds: number;
  launchSeconds: number;
  scaleUpFraction: number;
  scaleUpLatencySeconds: number;
  scaleOutFraction: number;
  scaleOutLatencySeconds: number;
  scaleOutGrowth: number;
  overlapContention: number;
  stepSeconds: number;
  jitterFraction: number;
}

export interface Accelerator {
  preset?: string;
  name: string;
  vendor: string;
  vectorFlopsPerSecond: number;
  memoryBytes: number;
  memoryBytesPerSecond: number;
  cacheBytes: number;
  computeUnits: number;
  powerWatts: number;
  scaleUpTopology: Topology;
  /** Per device and direction, all links together. */
  scaleUpBytesPerSecond: number;
  scaleUpDomain: number;
  hostBytesPerSecond: number;
  /** Dense peaks, FLOP/s; 0: the device has no such units. */
  matrixFlopsPerSecond: { fp32: number; tf32: number; fp16: number; bf16: number; fp8: number; fp4: number };
  efficiency: Efficiency;
}

export interface Cluster {
  preset?: string;
  name: string;
  devices: number;
  devicesPerNode: number;
  /** Rate of one device's network adapter, one direction. Requests may state networkGbitPerDevice instead. */
  networkBytesPerSecondPerDevice: number;
  /** >= 1. */
  networkOversubscription: number;
  devicesPerLeaf: number;
  inNetworkReduction: boolean;
  /** 0: unknown. */
  usdPerDeviceHour: number;
  accelerator: Accelerator;
}

export interface Job {
  sequenceLength: number;
  globalBatchSequences: number;
  /** Default: bf16. */
  precision: Precision;
  /** null: the software profile's own. */
  gradientPrecision: 'fp32' | 'bf16' | null;
  optimizer: 'adam' | 'sgd';
  /** Tokens of the whole training; 0: not asked. */
  tokenBudget: number;
  /** A label. */
  precisionRaw?: string;
  /** Picks the software profile where none is named. */
  framework?: string;
}

export interface Software {
  profile: string;
  /** Whose rules a strategy must obey. */
  launcher: Launcher;
  attentionKernel: AttentionKernel;
  fusedNorm: boolean;
  fusedMlp: boolean;
  fusedCrossEntropy: boolean;
  dropout: boolean;
  cudaGraphs: boolean;
  launchFactor: number;
  launchSpreadFraction: number;
  vectorFactor: number;
  fp32GradientAccumulation: boolean;
  pureBf16: boolean;
  overlapTensor: boolean;
  overlapData: boolean;
  overlapParameterGather: boolean;
  overlapPipeline: boolean;
  scatterGatherPipeline: boolean;
  parallelLogits: boolean;
  deduplicatedDispatch: boolean;
  overlapExpert: boolean;
  asyncTensorBackward: boolean;
  reservedBytes: number;
  allocatorFraction: number;
  vocabularyMultiple: number;
}

export interface Strategy {
  tensor: number;
  pipeline: number;
  /** Where open: devices / (tensor * pipeline * context). */
  data: number;
  context: number;
  expert: number;
  expertTensor: number;
  /** Model chunks per pipeline rank. */
  virtualStages: number;
  microBatchSequences: number;
  sequenceParallel: boolean;
  recompute: Recompute;
  /** What selective recomputation drops; empty with "selective": core_attn. */
  recomputeModules: RecomputeModule[];
  /** With "full": the first n layers of each rank; 0: all. */
  recomputeLayers: number;
  zeroStage: 0 | 1 | 2 | 3;
  /** Ranks that share the ZeRO shards; 0: all. */
  fsdpGroup: number;
  schedule: Schedule;
  contextKind: 'ring' | 'allToAll';
  placement: 'dataBeforePipeline' | 'pipelineBeforeData';
  /** Layers of the first and last stage; -1: even split. */
  firstStageLayers: number;
  lastStageLayers: number;
  offloadActivations: boolean;
}

/** Allowed degrees: both ends, 0 is no bound. A request may state one number instead, which pins the degree. */
export interface Range {
  min: number;
  max: number;
}

export interface Limits {
  /** Share of the device's memory that a plan may use. */
  memoryFraction: number;
  tensor?: Range;
  pipeline?: Range;
  data?: Range;
  context?: Range;
  expert?: Range;
  expertTensor?: Range;
  virtualStages?: Range;
  microBatchSequences?: Range;
  zeroStages?: number[];
  recompute?: Recompute[];
  schedules?: Schedule[];
  /** Drop what the launcher would refuse. */
  launcherRules: boolean;
}

type RequestModel = string | Partial_<Model>;
type RequestAccelerator = string | Partial_<Accelerator>;
type RequestCluster =
  | string
  | (Partial_<Omit<Cluster, 'accelerator'>> & {
      accelerator?: RequestAccelerator | null;
      networkGbitPerDevice?: number | null;
      /** Remarks of published runs; not read. */
      networkStated?: boolean | null;
      memorySizeStated?: boolean | null;
    });
type RequestSoftware =
  | string
  | (Omit<Partial_<Software>, 'attentionKernel'> & {
      /** "flash": the profile's own version of flash attention. */
      attentionKernel?: AttentionKernel | 'flash' | 'unfused' | null;
      overlap?: { tp?: boolean | null; dp?: boolean | null; pp?: boolean | null; ep?: boolean | null } | null;
    });
type RequestStrategy = Omit<Partial_<Strategy>, 'schedule' | 'recomputeModules'> & {
  schedule?: Schedule | 'none' | null;
  recomputeModules?: string[] | null;
};
type RequestLimits = { [K in keyof Limits]?: (Limits[K] extends Range | undefined ? Partial<Range> | number : Limits[K]) | null };

/** What the engine is asked. A section may be the id of a preset, or an object with the id and what differs from it. */
export interface PlanRequest {
  version?: 1;
  model: RequestModel;
  cluster: RequestCluster;
  job: { sequenceLength: number; globalBatchSequences: number } & Partial_<
    Omit<Job, 'sequenceLength' | 'globalBatchSequences'>
  >;
  software?: RequestSoftware | null;
  limits?: RequestLimits | null;
  objective?: Objective | null;
  /** Plans in the answer, 1 to 1000; 10 where open. */
  top?: number | null;
  /** For estimate, explain and timeline. */
  strategy?: RequestStrategy | null;
}

/** The request as the engine took it: every field stated. Sending it again gives the same answer. */
export interface ResolvedRequest {
  version: 1;
  model: Model;
  cluster: Cluster;
  job: Job;
  software: Software;
  limits: Limits;
  objective: Objective;
  top: number;
  strategy?: Strategy;
}

/** Seconds per step; they add up to stepSeconds. Names in brackets are those of arXiv 2501.00254. */
export interface TimeTerms {
  /** [TF] Forward and backward operators of the slowest stage. */
  compute: number;
  recompute: number;
  /** [TCT] */
  tensorCommunication: number;
  /** [TAT] */
  tensorReduction: number;
  contextCommunication: number;
  expertCommunication: number;
  /** [TCP] */
  pipelineCommunication: number;
  /** [TCD] */
  dataCommunication: number;
  /** [TAD] */
  dataReduction: number;
  /** [TO] Communication hidden under compute; never positive. */
  overlapped: number;
  /** [TB] Span of the pipeline less the busy time of its slowest stage. */
  bubble: number;
  optimizerStep: number;
  /** Launch-bound waiting, per-step host work, jitter. */
  host: number;
}

/** Bytes on one device at its worst moment. */
export interface MemoryClasses {
  weights: number;
  gradients: number;
  optimizerStates: number;
  activations: number;
  /** Logits and the working set of the loss. */
  logits: number;
  /** Recomputed layer, attention workspace, gathered parameters of ZeRO-3. */
  workingSet: number;
  communicationBuffers: number;
  /** Context, libraries, allocator loss. */
  reserve: number;
}

export interface Estimate {
  stepSeconds: number;
  tokensPerSecondPerDevice: number;
  /** Over the dense 16-bit peak; full attention counted, recomputation not (arXiv 2204.02311, appendix B). */
  modelFlopsUtilization: number;
  time: TimeTerms;
  memory: {
    peakBytes: number;
    /** Pipeline rank that holds the peak, from 0. */
    peakStage: number;
    /** The peak without the reserve: what a framework reports as allocated. */
    allocatedBytes: number;
    /** Device memory times limits.memoryFraction. */
    capacityBytes: number;
    /** Of the peak stage; they add up to peakBytes. */
    classes: MemoryClasses;
  };
  fits: boolean;
  /** Why it does not fit, or cannot be launched. */
  reasons: Issue[];
}

export interface Plan {
  strategy: Strategy;
  estimate: Estimate;
}

export interface SearchReport {
  /** Strategies before any rule: evaluated plus everything removed. */
  rawSpace: number;
  /** Strategies that each rule or bound removed. */
  removed: Record<string, number>;
  /** One line for each rule in `removed`. */
  reasons: Record<string, string>;
  evaluated: number;
  /** Of the evaluated, those that fit. */
  feasible: number;
  /** false: stopped early; the plans are the best so far. */
  complete: boolean;
  /** What nothing left can beat, in the unit of the objective; the best plan's when complete, null without any plan. */
  bestPossible: number | null;
}

/** The answer to a request that cannot be served. */
export interface Refusal {
  engineVersion: string;
  issues: Issue[];
}

export interface PlanAnswer extends Refusal {
  request: ResolvedRequest;
  /** Best first. */
  plans: Plan[];
  /** Only when nothing fits: the plans of least peak memory, least first. */
  closest?: Plan[];
  search: SearchReport;
}

export interface ValidateAnswer extends Refusal {
  request: ResolvedRequest;
}

export interface EstimateAnswer extends Refusal {
  request: ResolvedRequest;
  strategy: Strategy;
  estimate: Estimate;
  /** One entry per pipeline rank. */
  stages: { classes: MemoryClasses; totalBytes: number }[];
}

export interface ExplainAnswer extends Refusal {
  request: ResolvedRequest;
  strategy: Strategy;
  /**
   * refused: breaks a rule. outsideLimits: the request's limits exclude it. doesNotFit: needs more memory than there
   * is. best: nothing in the searched space is better. listed: among the plans. slower: legal and fits, and others are
   * better. unsearched: better than every plan, so outside the space that was searched.
   */
  verdict: 'refused' | 'outsideLimits' | 'doesNotFit' | 'best' | 'listed' | 'slower' | 'unsearched';
  /** One English sentence. */
  summary: string;
  /** Rules and limits that it breaks. */
  rules: Issue[];
  /** null when arithmetic rules are broken: there is nothing to estimate. */
  estimate: Estimate | null;
  memory: {
    neededBytes: number;
    capacityBytes: number;
    overBytes: number;
    largestClass: keyof MemoryClasses;
  } | null;
  /** null when nothing fits. */
  best: Plan | null;
  /** This strategy against the best plan; `terms` are differences in seconds. */
  comparison: { ratio: number; seconds: number; terms: TimeTerms } | null;
  /** Place among the plans, from 1. */
  rank: number | null;
  search: SearchReport | null;
}

export interface TimelineTask {
  kind: 'forward' | 'backward' | 'backwardInput' | 'backwardWeight';
  rank: number;
  chunk: number;
  microBatch: number;
  startSeconds: number;
  endSeconds: number;
}

export interface TimelineAnswer extends Refusal {
  strategy: Strategy;
  spanSeconds: number;
  bubbleSeconds: number;
  ranks: number;
  virtualStages: number;
  microBatches: number;
  /** Per rank: most micro-batch chunks whose activations are alive at once. */
  peakInFlight: number[];
  /** By rank, then start. */
  tasks: TimelineTask[];
}

/** Numbers are null where the run cannot be represented; `issues` says why. */
export interface RunAnswer {
  id: string | null;
  stepSeconds: number | null;
  tokensPerSecondPerDevice: number | null;
  peakMemoryBytes: number | null;
  /** The peak without the reserve. */
  allocatedMemoryBytes: number | null;
  fits: boolean | null;
  issues: Issue[];
}

export interface CatalogueAnswer {
  ok: boolean;
  counts: { models: number; accelerators: number; clusters: number; software: number };
  issues: Issue[];
}

export interface SearchState {
  done: boolean;
  /** Share of the space that is settled, 0..1, never falling. */
  progress: number;
  issues: Issue[];
}

/** A search in slices. Holds memory of the module until `delete()`: call that in a `finally`. */
export interface SearchJob {
  /** Looks at up to `budget` more strategies. Returns JSON of SearchState. */
  step(budget: number): string;
  /** The answer so far. Returns JSON of PlanAnswer, or of Refusal. */
  take(): string;
  delete(): void;
}

export interface MeshwiseModule {
  apiVersion(): string;
  /** Call once, before anything else, with the text of catalogue.json. Returns JSON of CatalogueAnswer. */
  loadCatalogue(json: string): string;
  /** Takes JSON of PlanRequest; returns JSON of ValidateAnswer or Refusal. Estimates nothing. */
  validate(json: string): string;
  /** Takes JSON of PlanRequest; returns JSON of PlanAnswer or Refusal. */
  plan(json: string): string;
  /** Takes JSON of PlanRequest with a strategy; returns JSON of EstimateAnswer or Refusal. */
  estimate(json: string): string;
  /** Takes JSON of PlanRequest with a strategy; returns JSON of ExplainAnswer or Refusal. */
  explain(json: string): string;
  /** Takes JSON of PlanRequest with a strategy; returns JSON of TimelineAnswer or Refusal. */
  timeline(json: string): string;
  /** Takes JSON of one published run; returns JSON of RunAnswer. */
  estimateRun(json: string): string;
  SearchJob: new (json: string) => SearchJob;
}

export interface ModuleOptions {
  /** The bytes of meshwise.wasm; required in Node. */
  wasmBinary?: ArrayBuffer | Uint8Array;
  /** Where the page finds meshwise.wasm. */
  locateFile?(path: string, prefix: string): string;
  /** For sharing one compiled module among workers. */
  instantiateWasm?(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object;
  print?(line: string): void;
  printErr?(line: string): void;
}

export default function createMeshwise(options?: ModuleOptions): Promise<MeshwiseModule>;
