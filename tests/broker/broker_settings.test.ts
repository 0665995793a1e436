/** The node's own settings, as Kafka's tools read them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { newDescribeConfigsRequest } from "../../src/protocol/generated/describe_configs_request.ts";
import { startTestNode, type TestNode } from "../harness/node.ts";
import { Wire } from "../harness/wire.ts";

const staticBroker = 4;
const byDefault = 5;
let node: TestNode;
beforeAll(async () => {
  const flags = { numPartitions: "7", offsetsRetentionMinutes: "60m", groupInitialRebalanceDelayMs: "250ms" };
  node = await startTestNode({ ...flags, retainSecs: "1h", kafkaAdvertise: "db.example:9092" });
});
afterAll(() => node.remove());

async function settings() {
  const wire = await Wire.open(node.kafkaPort);
  const resources = [{ resourceType: 4, resourceName: "1", configurationKeys: null }];
  const { results } = await wire.call(32, 4, newDescribeConfigsRequest({ resources }));
  wire.close();
  return new Map(results[0]!.configs.map(({ name, value, configSource }) => [name, { value, configSource }]));
}

test("old segments are looked for as rarely as on Kafka: until then records stamped long ago can be read", async () => {
  expect((await settings()).get("log.retention.check.interval.ms")?.value).toBe("300000");
});

test("what the node was told and where it listens", async () => {
  const shown = await settings();
  const expected = {
    listeners: `PLAINTEXT://127.0.0.1:${node.kafkaPort}`,
    "advertised.listeners": "PLAINTEXT://db.example:9092",
    "log.dirs": `${node.lake}/log`,
    "node.id": "1",
    "num.partitions": "7",
    "auto.create.topics.enable": "false",
    "offsets.retention.minutes": "60",
    "group.initial.rebalance.delay.ms": "250",
    "group.coordinator.rebalance.protocols": "classic",
    "log.retention.ms": "3600000",
  };
  for (const [name, value] of Object.entries(expected))
    expect({ name, ...shown.get(name) }).toEqual({ name, value, configSource: staticBroker });
});

test("what nobody set is Kafka's default", async () => {
  const shown = await settings();
  expect(shown.get("message.max.bytes")).toEqual({ value: "1048588", configSource: byDefault });
  expect(shown.get("group.min.session.timeout.ms")).toEqual({ value: "6000", configSource: byDefault });
});
