// The presets as the page shows them.
import { isObject, type JsonObject } from './json.ts';

export type ProvenanceStatus = 'sourced' | 'announced' | 'unsourced' | 'weak';

export interface Preset {
  id: string;
  name: string;
  group: string; // family or vendor
  status: ProvenanceStatus;
  notes: string;
  data: JsonObject;
}

export interface Catalogue {
  models: Map<string, Preset>;
  accelerators: Map<string, Preset>;
  clusters: Map<string, Preset>;
  software: Map<string, Preset>;
}

const statuses: readonly string[] = ['sourced', 'announced', 'unsourced', 'weak'];
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function readPresets(value: unknown, group: (data: JsonObject) => string): Map<string, Preset> {
  const presets = new Map<string, Preset>();
  if (!isObject(value)) return presets;
  for (const [id, data] of Object.entries(value)) {
    if (!isObject(data)) continue;
    const provenance = isObject(data.provenance) ? data.provenance : {};
    const status = text(provenance.status);
    presets.set(id, {
      id,
      name: text(data.name) || id,
      group: group(data),
      status: statuses.includes(status) ? (status as ProvenanceStatus) : 'unsourced',
      notes: text(provenance.notes),
      data,
    });
  }
  return presets;
}

export function readCatalogue(json: string): Catalogue {
  const root = JSON.parse(json) as Record<string, unknown>;
  const accelerators = readPresets(root.accelerators, (data) => text(data.vendor));
  return {
    models: readPresets(root.models, (data) => text(data.family)),
    accelerators,
    clusters: readPresets(root.clusters, (data) => {
      const accelerator = typeof data.accelerator === 'string' ? accelerators.get(data.accelerator) : undefined;
      return accelerator?.group ?? '';
    }),
    software: readPresets(root.software, () => ''),
  };
}
