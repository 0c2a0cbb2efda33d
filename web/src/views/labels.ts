// Words for the engine's values.
import { hasMessage, t, type MessageKey } from '../i18n/index.ts';
import type { Estimate, Issue, MemoryClass, Strategy, TimeTerm } from '../state/answer.ts';
import { formatGib, formatPercent, formatSeconds, formatTokensPerSecond } from '../state/format.ts';

const dot = ' · ';

const prefixes: [end: string, prefix: string][] = [
  ['/precision', 'precision.'],
  ['/objective', 'objective.'],
  ['/attentionKernel', 'kernel.'],
  ['/scaleUpTopology', 'topology.'],
  ['/launcher', 'launcher.'],
  ['/limits/recompute', 'recompute.'],
  ['/limits/schedules', 'schedule.'],
  ['', 'choice.'],
];

export function choiceLabel(pointer: string, value: string): string {
  const prefix = prefixes.find(([end]) => pointer.endsWith(end))![1];
  const key = prefix + value;
  return hasMessage(key) ? t(key) : value;
}

export const labelled = (prefix: string, value: string | null): string => {
  const key = `${prefix}.${value ?? 'none'}`;
  return hasMessage(key) ? t(key) : (value ?? '');
};

export const issueText = (issue: Issue): string => issue.message;

/** "TP 8 · PP 4 · DP 16", with the degrees that are not 1 and always these three. */
export function degreesLabel(s: Strategy): string {
  const parts = [`TP ${s.tensor}`, `PP ${s.pipeline}`, `DP ${s.data}`];
  if (s.context > 1) parts.push(`CP ${s.context}`);
  if (s.expert > 1) parts.push(`EP ${s.expert}`);
  if (s.expertTensor > 1) parts.push(`ETP ${s.expertTensor}`);
  if (s.virtualStages > 1) parts.push(`VPP ${s.virtualStages}`);
  return parts.join(dot);
}

export const layoutLabel = (s: Strategy): string =>
  [degreesLabel(s), t('answer.microBatch', { n: s.microBatchSequences })].join(dot);

export function methodsLabel(s: Strategy): string {
  const parts = [labelled('answer.recompute', s.recompute), t('answer.zero', { n: s.zeroStage })];
  if (s.sequenceParallel) parts.push(t('answer.sequenceParallel'));
  if (s.pipeline > 1 && s.schedule) parts.push(labelled('schedule', s.schedule));
  if (s.context > 1) parts.push(t('answer.contextKind', { kind: labelled('contextKind', s.contextKind) }));
  return parts.join(', ');
}

export const figuresSentence = (e: Estimate): string =>
  t('answer.sentenceEnd', {
    step: formatSeconds(e.stepSeconds),
    tokens: formatTokensPerSecond(e.tokensPerSecondPerDevice),
    mfu: formatPercent(e.modelFlopsUtilization, 0),
    memory: formatGib(e.memory.peakBytes),
    capacity: formatGib(e.memory.capacityBytes),
  });

export type TermKind = 'work' | 'extra' | 'communication' | 'hidden' | 'idle' | 'other';

export interface TermInfo {
  term: TimeTerm;
  symbol: string; // the paper's, '' where it has none
  kind: TermKind;
}

// In the order in which the waterfall adds them.
export const terms: readonly TermInfo[] = [
  { term: 'compute', symbol: 'TF', kind: 'work' },
  { term: 'recompute', symbol: '', kind: 'extra' },
  { term: 'tensorCommunication', symbol: 'TCT', kind: 'communication' },
  { term: 'tensorReduction', symbol: 'TAT', kind: 'communication' },
  { term: 'contextCommunication', symbol: '', kind: 'communication' },
  { term: 'expertCommunication', symbol: '', kind: 'communication' },
  { term: 'pipelineCommunication', symbol: 'TCP', kind: 'communication' },
  { term: 'dataCommunication', symbol: 'TCD', kind: 'communication' },
  { term: 'dataReduction', symbol: 'TAD', kind: 'communication' },
  { term: 'overlapped', symbol: 'TO', kind: 'hidden' },
  { term: 'bubble', symbol: 'TB', kind: 'idle' },
  { term: 'optimizerStep', symbol: '', kind: 'other' },
  { term: 'host', symbol: '', kind: 'other' },
];

export const memoryClasses: readonly MemoryClass[] = [
  'weights',
  'gradients',
  'optimizerStates',
  'activations',
  'logits',
  'workingSet',
  'communicationBuffers',
  'reserve',
];

export const termLabel = (term: TimeTerm): string => t(`term.${term}` as MessageKey);
export const termAbout = (term: TimeTerm): string => t(`term.${term}.about` as MessageKey);
export const memoryLabel = (part: MemoryClass): string => t(`memory.${part}` as MessageKey);
export const memoryAbout = (part: MemoryClass): string => t(`memory.${part}.about` as MessageKey);
