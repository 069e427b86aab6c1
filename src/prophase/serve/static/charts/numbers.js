// Numbers as people say them, and ticks that fall on round values.

const TIMES = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"]];
const COUNTED = ["GPUs", "cores", "nodes", "jobs"];
const BYTES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

export function plain(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e7) return value.toExponential(1).replace("e+", "e");
  if (size >= 1000 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

export function say(value, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (unit === "GiB") return say(value * 2 ** 30, "bytes");
  if (unit === "s" || unit === "bytes") {
    const steps = unit === "s" ? TIMES : BYTES;
    for (const [size, name] of steps) {
      if (Math.abs(value) >= size) return `${plain(Number((value / size).toPrecision(3)))} ${name}`;
    }
    return unit === "s" ? "0 s" : "0 B";
  }
  if (value === 1 && COUNTED.includes(unit)) return `1 ${unit.slice(0, -1)}`;
  return unit ? `${plain(value)} ${unit}` : plain(value);
}

// Where a linear axis has ticks: [value, label] pairs.
export function linearTicks(low, high, count, unit) {
  let size = 1;
  let name = unit;
  const steps = unit === "s" ? TIMES : unit === "bytes" ? BYTES : null;
  if (steps) {
    [size, name] = steps.find(([one]) => Math.max(Math.abs(low), Math.abs(high)) >= 2 * one) ||
      steps[steps.length - 1];
  }
  const from = low / size;
  const to = high / size;
  if (!(to > from)) return [[low, label(from, name)]];
  const rough = (to - from) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const bases = name === "h" ? [1, 2, 3, 6, 12] : name === "min" || (unit === "s" && name === "s") ?
    [1, 2, 5, 10, 15, 30] : [1, 2, 2.5, 5, 10];
  const step = (name === "h" && rough > 1 && rough <= 24) || (name === "min" && rough > 1) ?
    bases.concat([24, 48, 60, 120]).find((base) => base >= rough) :
    power * ([1, 2, 2.5, 5, 10].find((base) => base * power >= rough) || 10);
  const ticks = [];
  for (let at = Math.ceil(from / step - 1e-9) * step; at <= to + 1e-9 * step; at += step) {
    ticks.push([at * size, label(Math.abs(at) < 1e-9 * step ? 0 : Number(at.toPrecision(12)), name)]);
  }
  return ticks;
}

const label = (value, unit) => unit === "%" ? `${plain(value)} %` :
  ["s", "ms", "min", "h", "d", "B", "KiB", "MiB", "GiB", "TiB"].includes(unit) ? `${plain(value)} ${unit}` : plain(value);

const ROUND_TIMES = [1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600, 36000, 86400, 864000, 8640000];

export function logTicks(low, high, count, unit) {
  let all;
  if (unit === "s") {
    all = ROUND_TIMES.filter((at) => at >= low * 0.999 && at <= high * 1.001);
  } else {
    const base = unit === "bytes" ? 1024 : 10;
    all = [];
    const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
    const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
    for (let power = first; power <= last; power += 1) all.push(base ** power);
  }
  if (all.length < 2) all = [low, Math.sqrt(low * high), high];
  const every = Math.ceil(all.length / Math.max(count, 2));
  return all.filter((_, place) => place % every === 0).map((at) => [at, say(at, unit)]);
}

// Ticks of a clock: dates if the trace knows them, else the time since its start.
export function clockTicks(low, high, count, dated) {
  if (!dated) return linearTicks(low, high, count, "s");
  const steps = [60, 300, 900, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000];
  const step = steps.find((one) => (high - low) / one <= count) || 31536000;
  const ticks = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push([at, sayClock(at, true, step)]);
  return ticks;
}

export function sayClock(seconds, dated, step = 1) {
  if (!dated) return say(seconds, "s");
  const text = new Date(seconds * 1000).toISOString();
  return step >= 86400 ? text.slice(0, 10) : `${text.slice(5, 10)} ${text.slice(11, 16)}`;
}
