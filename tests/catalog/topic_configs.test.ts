/** Topic configs against what an Apache Kafka 4.4 broker answered (tests/vectors/catalog). */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KafkaError } from "../../src/base/kafka_error.ts";
import {
  alterTopicConfigs,
  type ConfigChange,
  describeTopicConfigs,
  incrementalAlterTopicConfigs,
  topicConfigNames,
  validateTopicConfigs,
} from "../../src/catalog/topic_configs.ts";

type Pairs = [name: string, value: string | null][];

interface Recorded {
  create?: Pairs;
  alter?: Pairs;
  incremental?: [name: string, operation: number, value: string | null][];
  code: number;
  message: string | null;
  set: Record<string, string>;
}

const vectors = join(import.meta.dirname, "../vectors/catalog");

function lines<T>(file: string): T[] {
  return readFileSync(join(vectors, file), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as T);
}

function change(configs: ReadonlyMap<string, string>, step: Recorded): Map<string, string> {
  if (step.create) return validateTopicConfigs(step.create);
  if (step.alter) return alterTopicConfigs(step.alter.map(([name, value]) => ({ name, value })));
  const changes = step.incremental!.map(
    ([name, configOperation, value]): ConfigChange => ({ name, configOperation, value }),
  );
  return incrementalAlterTopicConfigs(configs, changes);
}

describe("changes as Kafka answers them", () => {
  for (const steps of lines<Recorded[]>("topic_config_changes.jsonl")) {
    const title = JSON.stringify(steps.map((step) => step.create ?? step.alter ?? step.incremental));
    test(title, () => {
      let configs = new Map<string, string>();
      for (const step of steps) {
        const answer: { code: number; message: string | null } = { code: 0, message: null };
        try {
          configs = change(configs, step);
        } catch (error) {
          if (!(error instanceof KafkaError)) throw error;
          answer.code = error.code;
          answer.message = error.message;
        }
        expect(answer).toEqual({ code: step.code, message: step.message });
        expect(Object.fromEntries(configs)).toEqual(step.set);
      }
    });
  }
});

describe("description", () => {
  const recorded = lines<ReturnType<typeof describeTopicConfigs>[number]>("topic_configs_described.jsonl");
  const set = new Map([
    ["cleanup.policy", "compact,delete"],
    ["retention.ms", "1000"],
  ]);

  test("names, values, types, sources and synonyms are Kafka's", () => {
    const ours = describeTopicConfigs(set, null, { includeSynonyms: true });
    expect(ours.map((entry) => entry.name)).toEqual(recorded.map((entry) => entry.name));
    for (const [index, entry] of ours.entries()) {
      const { documentation, ...rest } = entry;
      expect(documentation).toBeNull();
      // The recorded broker kept its own cluster-wide minimum of replicas in its metadata: that source we do not have.
      const theirs = recorded[index]!;
      if (entry.name === "min.insync.replicas") {
        theirs.synonyms = theirs.synonyms.filter((synonym) => synonym.source !== 3);
        theirs.configSource = 5;
      }
      expect(rest as unknown).toEqual(theirs);
    }
  });

  test("a filter of names; an empty filter and null are all", () => {
    const names = describeTopicConfigs(set, ["retention.ms", "nothing", "cleanup.policy"]).map((entry) => entry.name);
    expect(names).toEqual(["cleanup.policy", "retention.ms"]);
    expect(describeTopicConfigs(set, [])).toEqual(describeTopicConfigs(set, null));
    expect(describeTopicConfigs(set, null)[0]!.synonyms).toEqual([]);
  });

  test("everything described is accepted back", () => {
    const pairs = describeTopicConfigs(set, null).map(({ name, value }) => ({ name, value }));
    const all = alterTopicConfigs(pairs);
    expect([...all.keys()]).toEqual([...topicConfigNames]);
    expect(alterTopicConfigs([...all].map(([name, value]) => ({ name, value })))).toEqual(all);
    expect(describeTopicConfigs(all, null).map((entry) => entry.value)).toEqual(pairs.map((pair) => pair.value));
  });

  test("the node's own defaults are static broker configs", () => {
    const defaults = new Map([["retention.ms", "60000"]]);
    const [entry] = describeTopicConfigs(new Map(), ["retention.ms"], { defaults, includeSynonyms: true });
    expect(entry).toMatchObject({
      value: "60000",
      configSource: 4,
      synonyms: [{ name: "log.retention.ms", value: "60000", source: 4 }],
    });
    const [own] = describeTopicConfigs(new Map([["retention.ms", "5"]]), ["retention.ms"], { defaults });
    expect(own).toMatchObject({ value: "5", configSource: 1 });
  });

  test("documentation only when asked for", () => {
    for (const entry of describeTopicConfigs(set, null, { includeDocumentation: true })) {
      expect(entry.documentation!.length).toBeGreaterThan(10);
    }
  });

  test("an unknown operation is refused", () => {
    const changes = [{ name: "retention.ms", configOperation: 9, value: "1" }];
    expect(() => incrementalAlterTopicConfigs(new Map(), changes)).toThrow(KafkaError);
  });
});
