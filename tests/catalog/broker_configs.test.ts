/** Broker configs against what an Apache Kafka 4.4 broker showed (tests/vectors/catalog). */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KafkaError } from "../../src/base/kafka_error.ts";
import {
  brokerConfigNames,
  brokerNamesOfTopicDefaults,
  describeBrokerConfigs,
  refuseBrokerConfigChanges,
} from "../../src/catalog/broker_configs.ts";
import type { ConfigEntry } from "../../src/catalog/config_definition.ts";

const vectors = join(import.meta.dirname, "../vectors/catalog/broker_configs_described.jsonl");
const recorded = new Map(
  readFileSync(vectors, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as ConfigEntry)
    .map((entry) => [entry.name, entry]),
);

test("every config is one of Kafka's, with Kafka's type, default and synonyms", () => {
  const set = new Map<string, string>();
  for (const name of brokerConfigNames) {
    const theirs = recorded.get(name)!;
    expect(theirs, name).toBeDefined();
    if (theirs.configSource === 4) set.set(name, theirs.value!);
  }
  for (const entry of describeBrokerConfigs(set, null, { includeSynonyms: true })) {
    const theirs = recorded.get(entry.name)!;
    // That broker kept its cluster-wide minimum of replicas in its metadata, a source that this node does not have.
    if (entry.name === "min.insync.replicas") continue;
    const { name, value, configSource, isSensitive, configType, synonyms } = theirs;
    expect(entry).toMatchObject({ name, value, configSource, isSensitive, configType, synonyms });
  }
});

test("names ascend and a filter keeps what it names", () => {
  expect([...brokerConfigNames].sort()).toEqual([...brokerConfigNames]);
  const entries = describeBrokerConfigs(new Map(), ["num.partitions", "nothing", "log.dirs"]);
  expect(entries.map((entry) => entry.name)).toEqual(["log.dirs", "num.partitions"]);
});

test("the node's topic defaults show under their broker names", () => {
  const values = brokerNamesOfTopicDefaults(
    new Map([
      ["retention.ms", "1000"],
      ["preallocate", "true"],
    ]),
  );
  expect(Object.fromEntries(values)).toEqual({ "log.preallocate": "true", "log.retention.ms": "1000" });
  const [entry] = describeBrokerConfigs(values, ["log.retention.ms"], { includeDocumentation: true });
  expect(entry).toMatchObject({ value: "1000", configSource: 4, readOnly: true });
  expect(entry!.documentation).toContain("retention.ms");
});

test("changes are refused, no change is not", () => {
  refuseBrokerConfigChanges([]);
  expect(() => refuseBrokerConfigChanges(["num.partitions"])).toThrow(KafkaError);
});
