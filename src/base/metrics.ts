/**
 * A small metrics registry that writes Prometheus' text format (version 0.0.4).
 * Invariant: recording never allocates. Hot code asks a family once for the child of its labels (`family.with("Produce")`)
 * and keeps it; text is made only when somebody scrapes. Names follow Prometheus' rules: base units, `_total` on counters.
 */
export class Counter {
  value = 0;
  inc(amount = 1): void {
    this.value += amount;
  }
}

export class Gauge {
  value = 0;
  set(value: number): void {
    this.value = value;
  }
  add(amount: number): void {
    this.value += amount;
  }
}

export class Histogram {
  /** Upper bounds, ascending; the last bucket (+Inf) is `count`. */
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length);
  }

  /** Adds one value, in the unit of the metric's name. */
  observe(value: number): void {
    this.sum += value;
    this.count++;
    const { bounds, counts } = this;
    for (let i = 0; i < bounds.length; i++) {
      if (value <= (bounds[i] as number)) {
        counts[i] = (counts[i] as number) + 1;
        return;
      }
    }
  }
}

/** Seconds, from 0.5 ms to 30 s: for request and statement latencies. */
export const latencyBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
] as const;

type MetricType = "counter" | "gauge" | "histogram";

export class Family<T> {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly labelNames: readonly string[];
  readonly children = new Map<string, { labels: string; metric: T }>();
  readonly #make: () => T;

  constructor(name: string, help: string, type: MetricType, labelNames: readonly string[], make: () => T) {
    this.name = name;
    this.help = help;
    this.type = type;
    this.labelNames = labelNames;
    this.#make = make;
  }

  /** The child of these label values, in the order of the label names; made on first use. */
  with(...values: string[]): T {
    const key = values.length === 1 ? (values[0] as string) : values.join("\u0000");
    let child = this.children.get(key);
    if (child === undefined) {
      child = { labels: labelText(this.labelNames, values), metric: this.#make() };
      this.children.set(key, child);
    }
    return child.metric;
  }
}

/** What a collector gets at scrape time, for values that live elsewhere (offsets, lags, memory). */
export interface MetricsWriter {
  /** Opens a metric; the samples that follow are its own. */
  metric(name: string, type: "counter" | "gauge", help: string): void;
  /** `labels`: ready text from `labelText`, or empty. */
  sample(value: number, labels?: string): void;
}

export type Collector = (writer: MetricsWriter) => void | Promise<void>;

export class MetricsRegistry {
  readonly #families = new Map<string, Family<Counter> | Family<Gauge> | Family<Histogram>>();
  readonly #collectors: Collector[] = [];

  counterFamily(name: string, help: string, labelNames: readonly string[]): Family<Counter> {
    return this.#family(name, () => new Family(name, help, "counter", labelNames, () => new Counter()));
  }

  counter(name: string, help: string): Counter {
    return this.counterFamily(name, help, []).with();
  }

  gaugeFamily(name: string, help: string, labelNames: readonly string[]): Family<Gauge> {
    return this.#family(name, () => new Family(name, help, "gauge", labelNames, () => new Gauge()));
  }

  gauge(name: string, help: string): Gauge {
    return this.gaugeFamily(name, help, []).with();
  }

  histogramFamily(
    name: string,
    help: string,
    labelNames: readonly string[],
    bounds: readonly number[] = latencyBounds,
  ): Family<Histogram> {
    return this.#family(name, () => new Family(name, help, "histogram", labelNames, () => new Histogram(bounds)));
  }

  histogram(name: string, help: string, bounds: readonly number[] = latencyBounds): Histogram {
    return this.histogramFamily(name, help, [], bounds).with();
  }

  /** Called at each scrape, in the order of registration. A collector that fails loses its own samples only. */
  collect(collector: Collector): void {
    this.#collectors.push(collector);
  }

  /** The whole exposition text. */
  async render(): Promise<string> {
    const parts: string[] = [];
    for (const family of this.#families.values()) writeFamily(family, parts);
    for (const collector of this.#collectors) {
      const own: string[] = [];
      try {
        await collector(textWriter(own));
        parts.push(...own);
      } catch {
        parts.push("# a collector failed; its metrics are missing from this scrape\n");
      }
    }
    return parts.join("");
  }

  /** The same name gives the same family, so two parts may count into one metric. */
  #family<F extends Family<Counter> | Family<Gauge> | Family<Histogram>>(name: string, make: () => F): F {
    const known = this.#families.get(name);
    if (known !== undefined) return known as F;
    const family = make();
    this.#families.set(name, family);
    return family;
  }
}

/** `{a="x",b="y"}` with the values escaped, or empty. */
export function labelText(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return "";
  return `{${names.map((name, i) => `${name}="${escapeLabel(values[i] ?? "")}"`).join(",")}}`;
}

function escapeLabel(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n") : value;
}

function textWriter(parts: string[]): MetricsWriter {
  let current = "";
  return {
    metric(name, type, help) {
      current = name;
      parts.push(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
    },
    sample(value, labels = "") {
      parts.push(`${current}${labels} ${numberText(value)}\n`);
    },
  };
}

function writeFamily(family: Family<Counter> | Family<Gauge> | Family<Histogram>, parts: string[]): void {
  parts.push(`# HELP ${family.name} ${family.help}\n# TYPE ${family.name} ${family.type}\n`);
  for (const { labels, metric } of family.children.values()) {
    if (metric instanceof Histogram) writeHistogram(family.name, labels, metric, parts);
    else parts.push(`${family.name}${labels} ${numberText(metric.value)}\n`);
  }
}

function writeHistogram(name: string, labels: string, histogram: Histogram, parts: string[]): void {
  const open = labels === "" ? "{" : `${labels.slice(0, -1)},`;
  let total = 0;
  for (let i = 0; i < histogram.bounds.length; i++) {
    total += histogram.counts[i] as number;
    parts.push(`${name}_bucket${open}le="${histogram.bounds[i]}"} ${total}\n`);
  }
  parts.push(`${name}_bucket${open}le="+Inf"} ${histogram.count}\n`);
  parts.push(`${name}_sum${labels} ${numberText(histogram.sum)}\n${name}_count${labels} ${histogram.count}\n`);
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}
