// What the engine answers: its own types, and the two questions that the page asks of them.
import type { Estimate as EngineEstimate, ExplainAnswer, Issue, MemoryClasses, Plan as EnginePlan, PlanAnswer as EnginePlanAnswer, SearchReport, Strategy, TimeTerms } from '#engine';

export type { ExplainAnswer, Issue, SearchReport, Strategy };
export type TimeTerm = keyof TimeTerms;
export type MemoryClass = keyof MemoryClasses;

export interface ExpectedError {
  p50Fraction: number;
  p90Fraction: number;
  /** The published runs that it was measured on, in words. */
  basis: string;
  extrapolated?: boolean;
}

// An engine may attach its expected error to an estimate.
export type Estimate = EngineEstimate & { expectedError?: ExpectedError };
export type Plan = Omit<EnginePlan, 'estimate'> & { estimate: Estimate };
export type PlanAnswer = Omit<EnginePlanAnswer, 'plans'> & { plans: Plan[] };

export interface Refusal {
  engineVersion: string;
  issues: Issue[];
}

export const isPlanAnswer = (answer: unknown): answer is PlanAnswer =>
  typeof answer === 'object' && answer !== null && Array.isArray((answer as PlanAnswer).plans) && typeof (answer as PlanAnswer).search === 'object';

export const issuesIn = (answer: unknown): Issue[] => {
  const issues = (answer as Refusal | null)?.issues;
  return Array.isArray(issues) ? issues : [];
};

/** A name for the strategy that is the same for equal strategies. */
export const strategyKey = (strategy: Strategy): string => JSON.stringify(Object.entries(strategy).sort(([a], [b]) => (a < b ? -1 : 1)));
