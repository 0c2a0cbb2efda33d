// Quantities as people type them ("70B", "1.5e12", "80 GiB", "400 Gb/s") to and from plain numbers in base units.

export type Quantity =
  | 'count'
  | 'bytes'
  | 'bytesPerSecond'
  | 'flopsPerSecond'
  | 'seconds'
  | 'fraction'
  | 'factor'
  | 'watts'
  | 'usdPerHour';

export type Parsed = { ok: true; value: number } | { ok: false; reason: 'empty' | 'notANumber' | 'unknownUnit' | 'unitNeeded' | 'notWhole' | 'tooLarge' };

type Units = readonly (readonly [unit: string, factor: number])[];

const si: Units = [['T', 1e12], ['G', 1e9], ['M', 1e6], ['k', 1e3], ['', 1]];
const binary: Units = [['Ti', 2 ** 40], ['Gi', 2 ** 30], ['Mi', 2 ** 20], ['Ki', 2 ** 10]];
const withSuffix = (prefixes: Units, suffix: string, scale = 1): Units =>
  prefixes.map(([prefix, factor]) => [prefix + suffix, factor * scale] as const);

// The first units of each list are those used to write a value.
const units: Record<Quantity, { write: Units; read: Units; bare: boolean }> = {
  count: {
    write: [['', 1]],
    read: [['k', 1e3], ['m', 1e6], ['million', 1e6], ['g', 1e9], ['b', 1e9], ['bn', 1e9], ['billion', 1e9], ['t', 1e12], ['trillion', 1e12], ['ki', 1024], ['mi', 2 ** 20]],
    bare: true,
  },
  bytes: { write: [...withSuffix(si, 'B'), ...withSuffix(binary, 'B')], read: [], bare: false },
  bytesPerSecond: {
    write: withSuffix(si, 'B/s'),
    read: [...withSuffix(binary, 'B/s'), ...['b/s', 'bit/s', 'bps', 'bits/s'].flatMap((suffix) => withSuffix(si, suffix, 1 / 8))],
    bare: false,
  },
  flopsPerSecond: {
    write: withSuffix([['P', 1e15], ...si].reverse() as unknown as Units, 'FLOP/s'),
    read: ['FLOPS', 'FLOPs', 'FLOPs/s', 'FLOPS/s', 'OPS', 'OP/s', 'F'].flatMap((suffix) => withSuffix([['E', 1e18], ['P', 1e15], ...si], suffix)),
    bare: false,
  },
  seconds: {
    write: [['s', 1], ['ms', 1e-3], ['µs', 1e-6], ['ns', 1e-9]],
    read: [['us', 1e-6], ['μs', 1e-6], ['sec', 1], ['min', 60], ['h', 3600]],
    bare: true,
  },
  fraction: { write: [['%', 0.01]], read: [['percent', 0.01]], bare: true },
  factor: { write: [['', 1]], read: [['x', 1], ['×', 1]], bare: true },
  watts: { write: [['W', 1], ['kW', 1e3]], read: [], bare: true },
  usdPerHour: { write: [['', 1]], read: [['/h', 1], ['$', 1], ['usd', 1], ['usd/h', 1], ['$/h', 1]], bare: true },
};

// Where case tells units apart (GB and Gb, ms and MS) only an exact spelling counts; else case is forgiven.
const caseMatters = new Set<Quantity>(['bytes', 'bytesPerSecond']);

const largest = Number.MAX_SAFE_INTEGER;

export function parseQuantity(text: string, quantity: Quantity): Parsed {
  const clean = text.normalize('NFKC').replace(/[\u2212\u2013]/g, '-').replace(/^\s*\$/, '').trim();
  if (clean === '') return { ok: false, reason: 'empty' };
  const match = /^([+-]?(?:\d{1,3}(?:[ ,_']\d{3})+|\d+|(?=\.\d))(?:\.\d*)?(?:e[+-]?\d+)?)\s*(.*)$/i.exec(clean);
  if (!match) return { ok: false, reason: 'notANumber' };
  const number = Number(match[1]!.replace(/[ ,_']/g, ''));
  if (!Number.isFinite(number)) return { ok: false, reason: Number.isNaN(number) ? 'notANumber' : 'tooLarge' };
  const unit = match[2]!.replace(/\s+/g, '');
  const { write, read, bare } = units[quantity];
  let factor: number | undefined;
  if (unit === '') {
    // A bare number in a field of bytes may mean 80 or 80 GB: only a value too large to be meant in GB is taken as it is.
    if (!bare && number !== 0 && Math.abs(number) < 1e6) return { ok: false, reason: 'unitNeeded' };
    factor = 1;
  } else {
    const all = [...write, ...read];
    factor = all.find(([name]) => name.normalize('NFKC') === unit)?.[1];
    if (factor === undefined) {
      const lower = unit.toLowerCase();
      const hits = all.filter(([name]) => name.normalize('NFKC').toLowerCase() === lower);
      if (!caseMatters.has(quantity) || new Set(hits.map(([, value]) => value)).size === 1) factor = hits[0]?.[1];
    }
    if (factor === undefined) return { ok: false, reason: /^[\d.,]/.test(unit) ? 'notANumber' : 'unknownUnit' };
  }
  // Division keeps decimal text exact where the factor is a power of ten below one (4 µs is 4e-6, not 4.0000000000000003e-6).
  const value = factor < 1 ? number / Math.round(1 / factor) : number * factor;
  if (!Number.isFinite(value)) return { ok: false, reason: 'tooLarge' };
  if (quantity === 'count') {
    if (Math.abs(value) > largest) return { ok: false, reason: 'tooLarge' };
    const whole = Math.round(value);
    if (Math.abs(whole - value) > 1e-6) return { ok: false, reason: 'notWhole' };
    return { ok: true, value: whole };
  }
  return { ok: true, value };
}

const plain = (value: number): string => String(Number(value.toPrecision(12)));

/** The shortest text that reads back as exactly `value`. */
export function writeQuantity(value: number, quantity: Quantity): string {
  const candidates: string[] = [];
  for (const [unit, factor] of units[quantity].write) {
    const scaled = value / factor;
    if (value !== 0 && unit !== '' && quantity !== 'fraction' && (Math.abs(scaled) < 0.999 || Math.abs(scaled) >= 1e5)) continue;
    candidates.push(unit === '' ? plain(scaled) : unit === '%' ? `${plain(scaled)} %` : `${plain(scaled)} ${unit}`);
  }
  const reads = (text: string): boolean => {
    const parsed = parseQuantity(text, quantity);
    return parsed.ok && parsed.value === value;
  };
  const exact = candidates.filter(reads).sort((a, b) => a.length - b.length)[0];
  return exact ?? String(value);
}
