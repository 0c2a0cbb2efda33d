// Numbers for display. Three significant digits unless a count is exact; a no-break space before the unit.

const nbsp = '\u00a0';
const digits = (value: number, significant = 3): string =>
  new Intl.NumberFormat('en', { maximumSignificantDigits: significant, minimumSignificantDigits: Math.abs(value) >= 100 ? undefined : significant }).format(value);

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const formatCount = (value: number): string => whole.format(value);

function scaled(value: number, unit: string, steps: readonly (readonly [number, string])[], significant = 3): string {
  if (value === 0) return `0${nbsp}${unit}`;
  const magnitude = Math.abs(Number(value.toPrecision(significant)));
  const [factor, prefix] = steps.find(([size]) => magnitude >= size) ?? steps[steps.length - 1]!;
  return `${digits(value / factor, significant)}${nbsp}${prefix}${unit}`;
}

export const formatSeconds = (value: number): string => {
  if (Math.abs(value) >= 999.5) return `${whole.format(value)}${nbsp}s`;
  return scaled(value, 's', [[1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']]);
};

const decimal = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']] as const;

/** Bytes as a number of GiB, one decimal; the unit stands beside it. */
export const formatGib = (bytes: number): string =>
  new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(bytes / 2 ** 30);
export const formatFlops = (value: number): string => scaled(value, 'FLOP/s', decimal, 4);
export const formatRate = (value: number): string => scaled(value, 'B/s', decimal, 4);

export const formatPercent = (fraction: number, fractionDigits = 1): string =>
  `${new Intl.NumberFormat('en', { minimumFractionDigits: fractionDigits, maximumFractionDigits: fractionDigits }).format(fraction * 100)}${nbsp}%`;

/** 70.6 B, 1.24 T: parameters and tokens. */
export const formatShort = (value: number): string => {
  if (Math.abs(value) < 1e4) return whole.format(value);
  const steps = [[1e12, 'T'], [1e9, 'B'], [1e6, 'M'], [1e3, 'k']] as const;
  const [factor, suffix] = steps.find(([size]) => Math.abs(value) >= size * 0.9995) ?? steps[3];
  return `${digits(value / factor)}${nbsp}${suffix}`;
};

export const formatTokensPerSecond = (value: number): string => (value >= 100 ? whole.format(value) : digits(value));
