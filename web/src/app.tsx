import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { EngineCrashed, Superseded, type EngineClient } from './engine/client.ts';
import { isPlanAnswer, issuesIn, type Issue, type PlanAnswer } from './state/answer.ts';
import type { Catalogue } from './state/catalogue.ts';
import {
  buildRequest,
  choosePreset,
  defaultDraft,
  draftFromRequest,
  presetSkeleton,
  resetField,
  setText,
  type Draft,
} from './state/draft.ts';
import { fieldAt } from './state/fields.ts';
import { forget, keepEntry, pageAddress, rememberSoon } from './state/history.ts';
import { difference, getAt, isObject, sameJson, type Json, type JsonObject } from './state/json.ts';
import { encodeLink, openAddress, type LinkPayload } from './state/link.ts';
import { formatPercent, formatSeconds } from './state/format.ts';
import { t } from './i18n/index.ts';
import { Verdict, verdictText } from './views/answer.tsx';
import { FormContext, fieldId, type Form, type PresetPart } from './views/context.ts';
import { Counts } from './views/counts.tsx';
import { Details } from './views/details.tsx';
import { Header } from './views/header.tsx';
import { HowItWorks } from './views/how.tsx';
import { Inputs } from './views/inputs.tsx';
import { Share } from './views/share.tsx';
import { PlanTable } from './views/table.tsx';
import { WhyNot, askedFrom, emptyAsked, type Asked } from './views/whynot.tsx';

interface AppProps {
  client: EngineClient;
  catalogue: Catalogue;
  onCrash: (listener: (message: string) => void) => void;
}

interface Shown {
  answer: PlanAnswer;
  asked: JsonObject; // the request as sent
  elapsedMs: number;
}

interface Notice {
  id: number;
  text: string;
  tone: 'note' | 'bad';
  action?: { label: string; run: () => void };
}

const editPauseMs = 30;
const slowMs = 500;
const planCounts = [10, 25, 50, 100];

export function App({ client, catalogue, onCrash }: AppProps) {
  const [draft, setDraft] = useState<Draft | undefined>(undefined); // undefined until the address is read
  const [shown, setShown] = useState<Shown | undefined>(undefined);
  const [refusal, setRefusal] = useState<Issue[]>([]);
  const [progress, setProgress] = useState<number | undefined>(undefined); // of a search that takes long
  const [crash, setCrash] = useState<string | undefined>(undefined);
  const [attempt, setAttempt] = useState(0);
  const [notices, setNotices] = useState<Notice[]>([]);
  const [chosen, setChosen] = useState(0);
  const [asked, setAsked] = useState<Asked>(emptyAsked);
  const [live, setLive] = useState('');
  const touched = useRef(false); // the user changed something: from now on the address follows
  const linkPromise = useRef<{ stepSeconds: number; engineVersion: string } | undefined>(undefined);
  const keepChosen = useRef(false);
  const noticeId = useRef(0);

  const notify = useCallback((text: string, tone: Notice['tone'] = 'note', action?: Notice['action']) => {
    setNotices((old) => [...old, { id: ++noticeId.current, text, tone, action }]);
  }, []);
  const edit = useCallback((change: (draft: Draft) => Draft) => {
    touched.current = true;
    linkPromise.current = undefined;
    setDraft((old) => change(old ?? defaultDraft));
  }, []);

  // ---- opening links and files ----

  const validate = useCallback(
    async (request: JsonObject): Promise<JsonObject | undefined> => {
      const { answer } = await client.call('validate', request);
      const resolved = isObject(answer) ? answer.request : undefined;
      return isObject(resolved) ? resolved : undefined;
    },
    [client],
  );

  // A draft that asks for exactly this request, with presets and edits told apart where possible.
  const draftOf = useCallback(
    async (request: JsonObject): Promise<Draft> => {
      const [wanted, skeleton] = await Promise.all([validate(request), validate(presetSkeleton(request))]);
      const cluster = catalogue.clusters.get(String(getAt(request, '/cluster/preset')));
      const own = cluster?.data.accelerator;
      const candidate = draftFromRequest(request, skeleton, typeof own === 'string' ? own : undefined);
      if (!wanted) return { base: request, texts: {} };
      const got = await validate(candidate.base);
      return got && sameJson(got, wanted) ? candidate : { base: request, texts: {} };
    },
    [catalogue, validate],
  );

  const openPayload = useCallback(
    async (payload: LinkPayload): Promise<void> => {
      const compact = payload.asked;
      const today = compact && (await validate(compact));
      // Numbers that the link states and that today's presets and defaults would give differently.
      const changed = today === undefined || difference(payload.request, today) !== undefined;
      const next = compact && !changed ? { base: compact, texts: {} } : await draftOf(payload.request);
      const view = payload.view ?? {};
      if (isObject(view.why)) setAsked(askedFrom(view.why));
      if (typeof view.plan === 'number') {
        setChosen(view.plan);
        keepChosen.current = true;
      }
      if (payload.stepSeconds !== undefined) linkPromise.current = { stepSeconds: payload.stepSeconds, engineVersion: payload.engineVersion };
      notify(
        t(compact && today && changed ? 'link.presetChanged' : 'link.opened'),
        'note',
        compact && today && changed ? { label: t('link.update'), run: () => edit(() => ({ base: compact, texts: {} })) } : undefined,
      );
      setDraft(next);
    },
    [draftOf, edit, notify, validate],
  );

  const openLocation = useCallback(async (): Promise<void> => {
    setNotices([]);
    const opened = await openAddress(location.hash, location.search);
    try {
      switch (opened.kind) {
        case 'plan':
          return await openPayload(opened.payload);
        case 'short': {
          let next = defaultDraft;
          for (const [pointer, text] of Object.entries(opened.texts)) {
            if (pointer === '/model/preset') next = choosePreset(next, '/model', text);
            else if (pointer === '/cluster/preset') next = choosePreset(next, '/cluster', text);
            else if (pointer === '/software/profile') next = choosePreset(next, '/software', text);
          }
          for (const [pointer, text] of Object.entries(opened.texts)) if (fieldAt.has(pointer)) next = setText(next, pointer, text);
          if (opened.unknown.length > 0) notify(t('link.unknownKeys', { keys: opened.unknown.join(', ') }), 'bad');
          return setDraft(next);
        }
        case 'damaged':
          notify(t('link.damaged'), 'bad');
          return setDraft(defaultDraft);
        case 'newer':
          notify(t('link.newer', { format: opened.format }), 'bad');
          return setDraft(defaultDraft);
        case 'none':
          return setDraft(defaultDraft);
      }
    } catch {
      setDraft((old) => old ?? defaultDraft); // the engine died while opening; its message is on screen
    }
  }, [notify, openPayload]);

  useEffect(() => {
    onCrash(setCrash);
    void openLocation();
    let handled = location.href;
    const onNavigate = (): void => {
      if (location.href === handled) return;
      handled = location.href;
      forget();
      touched.current = false;
      void openLocation();
    };
    addEventListener('popstate', onNavigate);
    addEventListener('hashchange', onNavigate);
    return () => {
      removeEventListener('popstate', onNavigate);
      removeEventListener('hashchange', onNavigate);
    };
  }, [onCrash, openLocation]);

  const openFile = async (file: File): Promise<void> => {
    const fail = (reason: 'share.badFileJson' | 'share.badFileShape' | 'share.badFileSize'): void =>
      notify(t('share.badFile', { name: file.name, reason: t(reason) }), 'bad');
    if (file.size > 1_000_000) return fail('share.badFileSize');
    let value: unknown;
    try {
      value = JSON.parse(await file.text());
    } catch {
      return fail('share.badFileJson');
    }
    // An answer holds its request.
    const request = isObject(value) && isObject(value.request) ? value.request : value;
    if (!isObject(request) || (request.model === undefined && request.cluster === undefined)) return fail('share.badFileShape');
    const { strategy, ...rest } = request;
    if (isObject(strategy)) setAsked(askedFrom(strategy));
    try {
      const next = await draftOf(rest);
      notify(t('share.opened', { name: file.name }));
      keepEntry();
      edit(() => next);
    } catch {
      // the engine died; its message is on screen
    }
  };

  // ---- the search ----

  const built = useMemo(() => draft && buildRequest(draft), [draft]);
  const localIssues = built?.issues ?? [];
  const issues = localIssues.length > 0 ? localIssues : refusal;

  useEffect(() => {
    if (!built || built.issues.length > 0) return;
    const request = built.request;
    let slow: ReturnType<typeof setTimeout> | undefined;
    const timer = setTimeout(
      () => {
        slow = setTimeout(() => setProgress((old) => old ?? 0), slowMs);
        const started = performance.now();
        client
          .search(request, (value) => performance.now() - started > slowMs && setProgress(value))
          .then(({ answer, elapsedMs }) => {
            setCrash(undefined);
            if (!isPlanAnswer(answer)) return setRefusal(issuesIn(answer));
            setRefusal([]);
            setShown({ answer, asked: request, elapsedMs });
            if (!keepChosen.current) setChosen(0);
            keepChosen.current = false;
          })
          .catch((error: unknown) => {
            if (!(error instanceof Superseded || error instanceof EngineCrashed)) throw error;
          })
          .finally(() => {
            clearTimeout(slow);
            setProgress(undefined);
          });
      },
      shown ? editPauseMs : 0,
    );
    return () => {
      clearTimeout(timer);
      clearTimeout(slow);
    };
  }, [built, attempt, client]);

  const answer = shown?.answer;
  const stale = issues.length > 0 || crash !== undefined;

  // A link that promised another step time was made by another engine.
  useEffect(() => {
    const promise = linkPromise.current;
    const now = answer?.plans[0]?.estimate.stepSeconds;
    if (!answer || !promise || now === undefined) return;
    linkPromise.current = undefined;
    if (Math.abs(now / promise.stepSeconds - 1) > 1e-9) {
      notify(
        t('link.engineChanged', {
          old: promise.engineVersion,
          new: answer.engineVersion,
          before: formatSeconds(promise.stepSeconds),
          after: formatSeconds(now),
        }),
        'bad',
      );
    }
  }, [answer, notify]);

  const payload = useMemo((): LinkPayload | undefined => {
    if (!shown) return undefined;
    const degrees = Object.fromEntries(
      Object.entries(asked.degrees).flatMap(([key, text]) => (/^\d{1,9}$/.test(text) ? [[key, Number(text)]] : [])),
    );
    const why: JsonObject = { ...degrees, recompute: asked.recompute, zeroStage: Number(asked.zeroStage), schedule: asked.schedule, sequenceParallel: asked.sequenceParallel };
    return {
      engineVersion: shown.answer.engineVersion,
      request: shown.answer.request as unknown as JsonObject,
      asked: shown.asked,
      stepSeconds: shown.answer.plans[0]?.estimate.stepSeconds,
      view: { plan: chosen, why },
    };
  }, [shown, chosen, asked]);

  useEffect(() => {
    if (payload && touched.current) rememberSoon(payload);
  }, [payload]);

  // One polite sentence once the numbers have settled.
  useEffect(() => {
    if (!answer) return;
    const timer = setTimeout(() => setLive(t('answer.live', { verdict: verdictText(answer), count: answer.plans.length })), 700);
    return () => clearTimeout(timer);
  }, [answer]);

  useEffect(() => {
    let closed: HTMLDetailsElement[] = [];
    const open = (): void => {
      closed = [...document.querySelectorAll<HTMLDetailsElement>('details:not([open])')];
      for (const details of closed) details.open = true;
    };
    const restore = (): void => {
      for (const details of closed) details.open = false;
    };
    addEventListener('beforeprint', open);
    addEventListener('afterprint', restore);
    return () => {
      removeEventListener('beforeprint', open);
      removeEventListener('afterprint', restore);
    };
  }, []);

  const currentDraft = draft ?? defaultDraft;
  const form: Form = {
    catalogue,
    draft: currentDraft,
    resolved: resolvedFor(currentDraft, answer?.request as unknown as JsonObject | undefined, catalogue),
    issues,
    setText: (pointer, text) => edit((old) => setText(old, pointer, text)),
    reset: (pointer) => edit((old) => resetField(old, pointer)),
    choose: (part: PresetPart, id) => {
      keepEntry();
      edit((old) => choosePreset(old, part, id));
    },
  };

  const plan = answer?.plans[Math.min(chosen, answer.plans.length - 1)];
  const rank = answer ? Math.min(chosen, answer.plans.length - 1) : 0;
  const top = answer?.plans.length ?? 0;
  const nextTop = planCounts.find((n) => n > top);
  const canGrow = answer !== undefined && nextTop !== undefined && answer.search.feasible > top;

  return (
    <FormContext.Provider value={form}>
      <a class="skip" href="#answer" onClick={focusTarget('answer')}>
        {t('app.skip')}
      </a>
      <Header />
      <div class="layout">
        <Inputs
          onStartOver={() => {
            keepEntry();
            edit(() => defaultDraft);
            setNotices([]);
          }}
        />
        <main class="results" aria-busy={progress !== undefined}>
          <div class="notices">
            {notices.map((notice) => (
              <div key={notice.id} class={`notice ${notice.tone}`} role={notice.tone === 'bad' ? 'alert' : 'status'}>
                <p>{notice.text}</p>
                {notice.action && (
                  <button
                    type="button"
                    onClick={() => {
                      notice.action!.run();
                      setNotices((old) => old.filter(({ id }) => id !== notice.id));
                    }}
                  >
                    {notice.action.label}
                  </button>
                )}
                <button type="button" class="quiet" onClick={() => setNotices((old) => old.filter(({ id }) => id !== notice.id))}>
                  {t('link.dismiss')}
                </button>
              </div>
            ))}
            {crash !== undefined && (
              <div class="notice bad" role="alert">
                <div>
                  <p>
                    <strong>{t('crash.title')}</strong> {t('crash.text')}
                  </p>
                  <details>
                    <summary>{t('crash.details')}</summary>
                    <pre>{crash}</pre>
                  </details>
                </div>
                <button
                  type="button"
                  onClick={() => {
                    setCrash(undefined);
                    setAttempt((n) => n + 1);
                  }}
                >
                  {t('crash.retry')}
                </button>
              </div>
            )}
            {issues.length > 0 && <Problems issues={issues} />}
          </div>
          {progress !== undefined && (
            <div class="searching">
              <label for="search-progress">{t('answer.searchingProgress', { percent: formatPercent(progress, 0) })}</label>
              <progress id="search-progress" max={1} value={progress} />
              <button type="button" onClick={() => client.stopSearch()}>
                {t('answer.stop')}
              </button>
            </div>
          )}
          <Verdict answer={answer} stale={stale}>
            {payload && (
              <Share
                makeLink={async () => `${pageAddress()}#${await encodeLink(payload)}`}
                makeRequest={() => JSON.stringify(shown!.asked, undefined, 2)}
                makeAnswer={() => JSON.stringify(answer, undefined, 2)}
                openFile={(file) => void openFile(file)}
              />
            )}
          </Verdict>
          {answer && plan && (
            <>
              <PlanTable
                plans={answer.plans}
                chosen={rank}
                onChoose={(next) => {
                  touched.current = true;
                  setChosen(next);
                }}
                stale={stale}
                more={
                  canGrow
                    ? { n: nextTop, onMore: () => edit((old) => ({ ...old, base: { ...old.base, top: nextTop } })) }
                    : undefined
                }
              />
              <Details plan={plan} rank={rank} stale={stale} />
            </>
          )}
          {answer && (
            <WhyNot
              asked={asked}
              setAsked={(next) => {
                touched.current = true;
                setAsked(next);
              }}
              chosen={plan && { plan, rank }}
              explain={(strategy) => client.call('explain', { ...answer.request, strategy }).then((reply) => reply.answer)}
              request={answer.request}
            />
          )}
          {answer && <Counts search={answer.search} elapsedMs={shown.elapsedMs} stale={stale} />}
          <HowItWorks />
        </main>
      </div>
      <footer class="site-footer">
        <p>
          {t('app.local')} {answer && t('footer.version', { version: answer.engineVersion })} · {t('footer.license')}
        </p>
      </footer>
      <p class="visually-hidden" role="status">
        {live}
      </p>
    </FormContext.Provider>
  );
}

const focusTarget = (id: string) => (event: Event) => {
  event.preventDefault(); // the fragment is the plan's
  document.getElementById(id)?.focus();
};

/** What the presets of the draft resolve to: the engine's word where it has one for them, else the catalogue. */
function resolvedFor(draft: Draft, resolved: JsonObject | undefined, catalogue: Catalogue): JsonObject {
  const { request } = buildRequest(draft);
  const id = (pointer: string): string => {
    const value = getAt(request, pointer);
    return typeof value === 'string' ? value : '';
  };
  const part = (name: string, label: string, data: JsonObject | undefined): Json => {
    const known = resolved && getAt(resolved, `/${name}`);
    if (isObject(known) && (known[label] ?? '') === id(`/${name}/${label}`)) return known;
    return data ?? {};
  };
  const clusterPreset = catalogue.clusters.get(id('/cluster/preset'));
  const acceleratorId = id('/cluster/accelerator/preset') || id('/cluster/accelerator') || String(clusterPreset?.data.accelerator ?? '');
  const cluster = part('cluster', 'preset', clusterPreset?.data);
  const sameAccelerator = isObject(cluster) && getAt(cluster, '/accelerator/preset') === acceleratorId;
  return {
    ...(resolved ?? request),
    model: part('model', 'preset', catalogue.models.get(id('/model/preset'))?.data),
    cluster:
      isObject(cluster) && !sameAccelerator ? { ...cluster, accelerator: catalogue.accelerators.get(acceleratorId)?.data ?? {} } : cluster,
    software: part('software', 'profile', catalogue.software.get(id('/software/profile'))?.data),
  };
}

/** The input that an issue belongs to, if there is one on the page. */
function inputOf(issue: Issue): string | undefined {
  if (issue.path === '/model' || issue.path === '/model/preset') return 'model';
  if (issue.path === '/cluster' || issue.path === '/cluster/preset') return 'cluster';
  if (issue.path.startsWith('/software/profile')) return 'software';
  if (issue.path === '/cluster/accelerator' || issue.path === '/cluster/accelerator/preset') return 'accelerator';
  for (let path = issue.path; path !== ''; path = path.slice(0, path.lastIndexOf('/'))) if (fieldAt.has(path)) return fieldId(path);
  return undefined;
}

function Problems({ issues }: { issues: Issue[] }) {
  return (
    <div class="notice bad" role="status" aria-label={t('answer.refused')}>
      <div>
        <p>
          <strong>{t('answer.refused')}</strong>
        </p>
        <ul>
          {issues.map((issue) => {
            const input = inputOf(issue);
            const field = fieldAt.get(issue.path);
            const text = `${field ? `${t(field.label)}: ` : ''}${issue.message}`;
            return (
              <li class={issue.severity}>
                {input ? (
                  <a href={`#${input}`} onClick={focusTarget(input)}>
                    {text}
                  </a>
                ) : (
                  <>
                    {text} {issue.path && !field && <code>{issue.path}</code>}
                  </>
                )}
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}
