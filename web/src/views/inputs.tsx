// The left side: what is trained, on what, within which limits.
import { useState } from 'preact/hooks';
import sourcesUrl from '#catalogueSources?url';
import { countEdits, draftValue } from '../state/draft.ts';
import { clusterGroups, jobFields, limitFields, modelGroups, softwareGroups, type Field, type FieldGroup } from '../state/fields.ts';
import { getAt, isObject, type Json } from '../state/json.ts';
import type { Preset } from '../state/catalogue.ts';
import { formatCount, formatRate } from '../state/format.ts';
import { t } from '../i18n/index.ts';
import { issuesOf, useForm, type Form } from './context.ts';
import { FieldView, Folded } from './field.tsx';
import { Picker } from './picker.tsx';

const num = (value: Json | undefined): number => (typeof value === 'number' ? value : 0);

export function describeModel(preset: Preset): string {
  const parts = [`${formatCount(num(preset.data.layers))} layers`, `hidden ${formatCount(num(preset.data.hidden))}`];
  const experts = num(getAt(preset.data, '/moe/experts'));
  parts.push(experts > 0 ? `${experts} experts` : `${formatCount(num(preset.data.heads))} heads`);
  return parts.join(' · ');
}

function describeCluster(form: Form): (preset: Preset) => string {
  return (preset) => {
    const accelerator = form.catalogue.accelerators.get(String(preset.data.accelerator));
    const rate = num(preset.data.networkBytesPerSecondPerDevice);
    const network = rate > 0 ? ` · ${formatCount((rate * 8) / 1e9)} Gb/s` : '';
    return `${num(preset.data.devicesPerNode)} × ${accelerator?.name ?? String(preset.data.accelerator)}${network}`;
  };
}

const describeAccelerator = (preset: Preset): string =>
  `${(num(preset.data.memoryBytes) / 2 ** 30).toFixed(0)} GiB at ${formatRate(num(preset.data.memoryBytesPerSecond))}`;

type Sources = Record<string, Record<string, Json>>;
let sourcesLoad: Promise<Sources> | undefined;
const loadSources = (): Promise<Sources> => (sourcesLoad ??= fetch(sourcesUrl).then((response) => response.json() as Promise<Sources>));

/** The source of the number at `path` ("/a/b"), or of the nearest part that states one. */
function sourceOf(root: Json | undefined, path: string): string | undefined {
  for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const found = getAt(root, at);
    const text = isObject(found) ? found.source : found;
    if (typeof text === 'string' && text !== '') return text;
  }
  return undefined;
}

function Groups({ groups, source }: { groups: FieldGroup[]; source: (field: Field) => string | undefined }) {
  return (
    <>
      {groups.map((group) => (
        <fieldset class="group">
          <legend>{t(group.title)}</legend>
          <div class="pair">
            {group.fields.map((field) => (
              <FieldView field={field} source={source(field)} resettable />
            ))}
          </div>
        </fieldset>
      ))}
    </>
  );
}

const plural = (stem: 'edited' | 'set', n: number): string | undefined =>
  n === 0 ? undefined : n === 1 ? t(`inputs.${stem}.one`) : t(`inputs.${stem}.many`, { n });

const problems = (form: Form, groups: FieldGroup[]): number =>
  groups.flatMap((group) => group.fields).reduce((sum, field) => sum + issuesOf(form.issues, field.pointer).filter((i) => i.severity === 'error').length, 0);

export function Inputs({ onStartOver }: { onStartOver: () => void }) {
  const form = useForm();
  const [sources, setSources] = useState<Sources>({});
  const wantSources = (): void => void loadSources().then(setSources, () => undefined);

  const id = (pointer: string): string => {
    const value = draftValue(form.draft, pointer);
    return typeof value === 'string' ? value : '';
  };
  const model = id('/model/preset');
  const cluster = id('/cluster/preset');
  const software = id('/software/profile');
  const clusterAccelerator = form.catalogue.clusters.get(cluster)?.data.accelerator;
  const accelerator = id('/cluster/accelerator/preset') || id('/cluster/accelerator') || (typeof clusterAccelerator === 'string' ? clusterAccelerator : '');
  const errorAt = (...pointers: string[]): string | undefined =>
    form.issues.find((issue) => issue.severity === 'error' && pointers.includes(issue.path))?.message;

  const modelSource = (field: Field): string | undefined => {
    const root = getAt(sources, '/models') && (sources.models?.[model] as Json | undefined);
    const shape = getAt(root, '/sources/shape');
    return sourceOf(root, field.pointer.slice('/model'.length)) ?? (Array.isArray(shape) ? shape.join('; ') : undefined);
  };
  const hardwareSource = (field: Field): string | undefined => {
    const inside = '/cluster/accelerator';
    if (field.pointer.startsWith(`${inside}/`)) return sourceOf(sources.accelerators?.[accelerator], field.pointer.slice(inside.length));
    const path = field.pointer.slice('/cluster'.length);
    return sourceOf(sources.clusters?.[cluster], path === '/networkBytesPerSecondPerDevice' ? '/networkGbitPerDevice' : path);
  };
  const softwareSource = (field: Field): string | undefined => sourceOf(sources.software?.[software], field.pointer.replace(/^\/\w+/, ''));
  const limits = [...limitFields.degrees, ...limitFields.sets];
  const limitsSet = limits.filter((field) => {
    const value = draftValue(form.draft, field.pointer);
    return Array.isArray(value) ? value.length > 0 : isObject(value) ? num(value.min) > 0 || num(value.max) > 0 : value !== undefined && value !== null;
  }).length;

  return (
    <form class="inputs" aria-labelledby="inputs-title" onSubmit={(event) => event.preventDefault()}>
      <div class="inputs-head">
        <h2 id="inputs-title">{t('inputs.title')}</h2>
        <button type="button" class="quiet" onClick={onStartOver}>
          {t('inputs.startOver')}
        </button>
      </div>
      <Picker
        id="model"
        label={t('inputs.model')}
        presets={form.catalogue.models}
        value={model}
        custom={t('inputs.custom')}
        describe={describeModel}
        onChoose={(preset) => form.choose('/model', preset)}
        error={errorAt('/model/preset')}
      />
      <Picker
        id="cluster"
        label={t('inputs.cluster')}
        presets={form.catalogue.clusters}
        value={cluster}
        custom={t('inputs.custom')}
        describe={describeCluster(form)}
        onChoose={(preset) => form.choose('/cluster', preset)}
        error={errorAt('/cluster/preset')}
      />
      <div class="pair">
        <FieldView field={jobFields.devices} unit="unit.devices" />
        <FieldView field={jobFields.precision} />
        <FieldView field={jobFields.sequenceLength} unit="unit.tokens" />
        <FieldView field={jobFields.globalBatch} unit="unit.sequences" />
      </div>
      <div class="pair">
        <div class="field">
          <div class="field-label">
            <label for="software">{t('inputs.software')}</label>
          </div>
          <select id="software" value={software} onChange={(event) => form.choose('/software', event.currentTarget.value)}>
            {!form.catalogue.software.has(software) && <option value={software}>{software || t('inputs.custom')}</option>}
            {[...form.catalogue.software.values()].map((profile) => (
              <option value={profile.id}>{profile.name}</option>
            ))}
          </select>
          <p class="field-note">{errorAt('/software/profile') && <span class="error">{errorAt('/software/profile')}</span>}</p>
        </div>
        <FieldView field={jobFields.objective} />
      </div>

      <Folded
        title={t('inputs.limits')}
        badge={plural('set', limitsSet)}
        problems={problems(form, [{ title: 'inputs.limits', fields: [...limits, limitFields.memory] }])}
      >
        {() => (
          <>
            <p class="hint">{t('inputs.limitsHint')}</p>
            <div class="quad">
              {limitFields.degrees.map((field) => (
                <FieldView field={field} placeholder={t('inputs.any')} />
              ))}
            </div>
            {limitFields.sets.map((field) => (
              <FieldView field={field} />
            ))}
            <FieldView field={limitFields.memory} />
            <FieldView field={limitFields.launcherRules} />
          </>
        )}
      </Folded>
      <Folded title={t('inputs.editModel')} badge={plural('edited', countEdits(form.draft, '/model'))} problems={problems(form, modelGroups)} onOpen={wantSources}>
        {() => <Groups groups={modelGroups} source={modelSource} />}
      </Folded>
      <Folded title={t('inputs.editHardware')} badge={plural('edited', countEdits(form.draft, '/cluster'))} problems={problems(form, clusterGroups)} onOpen={wantSources}>
        {() => (
          <>
            <Picker
              id="accelerator"
              label={t('inputs.accelerator')}
              presets={form.catalogue.accelerators}
              value={accelerator}
              custom={t('inputs.custom')}
              describe={describeAccelerator}
              onChoose={(preset) => form.choose('/cluster/accelerator', preset)}
              error={errorAt('/cluster/accelerator', '/cluster/accelerator/preset')}
            />
            <Groups groups={clusterGroups} source={hardwareSource} />
          </>
        )}
      </Folded>
      <Folded title={t('inputs.editSoftware')} badge={plural('edited', countEdits(form.draft, '/software'))} problems={problems(form, softwareGroups)} onOpen={wantSources}>
        {() => <Groups groups={softwareGroups} source={softwareSource} />}
      </Folded>
    </form>
  );
}
