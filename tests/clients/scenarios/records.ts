/** Scenarios about single records: what is produced is what is consumed, and where it goes. */

import type { ClientDefinition } from "../clients.ts";
import type { RecordLine } from "../driver.ts";
import { asText, letters, plainRecord, range, type Scenario, type Stage, sha256, text } from "../scenario.ts";

const codecs = ["none", "gzip", "snappy", "lz4", "zstd"] as const;
/** acks=0 last: on a topic just made, such a produce may meet a partition that has no leader yet, and nobody is told. */
const acks = ["all", "1", "0"] as const;
const sampleTimestamp = 1_700_000_000_123;

/** Every combination of null and empty key and value, headers that repeat and are null, bytes that are no text, and a compressible run. */
function sampleRecords(client: ClientDefinition, partition: number): RecordLine[] {
  const values: [key: string | null, value: string | null][] = [
    [text("k"), text('{"user": "u0", "amount": 0}')],
    [null, text("no key")],
    ["", text("empty key")],
    [text("empty value"), ""],
    ["", ""],
    [text("null value"), null],
    ...(client.nullPair ? [[null, null] satisfies [null, null]] : []),
    [Buffer.from([0, 255, 254]).toString("base64"), Buffer.from([0, 1, 2, 128, 255]).toString("base64")],
    [text("日本"), text("ключ ✓")],
  ];
  const records: RecordLine[] = values.map(([key, value]) => ({
    partition,
    key,
    value,
    headers: [],
    timestamp: sampleTimestamp,
  }));
  const headers: RecordLine["headers"] = [
    ["repeated", text("1")],
    ["other", text("between")],
    ["repeated", text("2")],
    ["null", null],
    ["empty", ""],
  ];
  records.push({ partition, key: text("headers"), value: text("with headers"), headers, timestamp: sampleTimestamp });
  for (const index of range(0, 40)) {
    records.push({
      partition,
      key: null,
      value: text(`row ${index} of many that are alike`),
      headers: [],
      timestamp: sampleTimestamp,
    });
  }
  return records;
}

/** Without what a run decides (times other than those we set), and without the partition, which is the combination's. */
function stable(record: RecordLine): object {
  const { offset, key, value, headers, timestamp } = record;
  return { offset, key, value, headers, timestamp: timestamp === sampleTimestamp ? "as sent" : "of the run" };
}

async function codecsAndAcks(stage: Stage): Promise<unknown> {
  const combinations = acks.flatMap((level) => codecs.map((codec) => ({ codec, acks: level })));
  const topic = await stage.topic("t", combinations.length);
  const driver = stage.driver();
  const answers: unknown[] = [];
  for (const [partition, combination] of combinations.entries()) {
    const fields = {
      ...combination,
      idempotent: combination.acks === "all",
      records: sampleRecords(stage.client, partition),
    };
    const { offsets } = await driver.must("produce", { bootstrap: stage.bootstrap, topic, ...fields });
    answers.push(offsets);
  }
  const counts = Object.fromEntries(
    combinations.map((_, partition) => [partition, sampleRecords(stage.client, partition).length]),
  );
  const { records = [] } = await driver.must("consume", { bootstrap: stage.bootstrap, topic, counts });
  // Equal outcomes are said once, with the combinations that had them.
  const outcomes = new Map<string, string[]>();
  for (const [partition, { codec, acks: level }] of combinations.entries()) {
    const consumed = records.filter((record) => record.partition === partition).map(stable);
    const outcome = JSON.stringify({ offsets: answers[partition], consumed });
    outcomes.set(outcome, [...(outcomes.get(outcome) ?? []), `${codec} acks=${level}`]);
  }
  return [...outcomes].map(([outcome, names]) => ({ combinations: names, ...JSON.parse(outcome) }));
}

async function partitioner(stage: Stage): Promise<unknown> {
  const topic = await stage.topic("t", 4);
  const driver = stage.driver();
  const records = range(0, 60).map((index) => plainRecord(`key-${index}`, `${index}`));
  await driver.must("produce", {
    bootstrap: stage.bootstrap,
    topic,
    acks: "all",
    codec: "none",
    idempotent: true,
    records,
  });
  // How many went where is the client's own choice: learned from the broker by asking for what there is.
  const placed: Record<string, string[]> = {};
  const reader = stage.driver();
  await reader.must("join", {
    consumer: "c",
    bootstrap: stage.bootstrap,
    group: stage.unique("g"),
    topic,
    assignor: "range",
  });
  await reader.until("60 records", () => reader.records("c").length >= 60);
  for (const { partition, key } of reader.records("c")) {
    const name = `partition ${partition}`;
    placed[name] ??= [];
    placed[name].push(asText(key) ?? "");
  }
  return Object.fromEntries(Object.entries(placed).sort());
}

async function largeRecords(stage: Stage): Promise<unknown> {
  const topic = await stage.topic("t", 1);
  const driver = stage.driver();
  const settings = { bootstrap: stage.bootstrap, topic, acks: "all", codec: "none", idempotent: false };
  const fits = await driver.must("produce", { ...settings, records: [plainRecord("fits", letters(900_000), 0)] });
  const tooLarge = await driver.ask("produce", {
    ...settings,
    records: [plainRecord("too large", letters(1_200_000), 0)],
  });
  const after = await driver.must("produce", { ...settings, records: [plainRecord("after", "small", 0)] });
  const { records = [] } = await driver.must("consume", { bootstrap: stage.bootstrap, topic, counts: { 0: 2 } });
  return {
    answered: [fits.offsets, after.offsets],
    errorCode: tooLarge.error?.code,
    consumed: records.map(({ offset, key, value }) => ({ offset, key: asText(key), sha256: sha256(value) })),
  };
}

async function idempotentRetry(stage: Stage): Promise<unknown> {
  const topic = await stage.topic("t", 1);
  const driver = stage.driver();
  const { proxy } = stage.target;
  if (proxy === undefined) throw new Error("this scenario needs a broker behind a proxy");
  const rounds: unknown[] = [];
  for (const round of range(0, 3)) {
    const clientId = stage.unique(`${round}`);
    proxy.cutProduceAnswers(clientId, 1);
    const records = range(0, 20).map((index) => plainRecord(`${round}`, `${round}-${index}`, 0));
    const settings = { bootstrap: stage.bootstrap, topic, clientId, acks: "all", codec: "none", idempotent: true };
    const { offsets, error } = await driver.ask("produce", { ...settings, records });
    rounds.push({ offsets, errorCode: error?.code, cutsLeft: proxy.cutsLeft(clientId) });
  }
  // One more, which ends what is to be read.
  const settings = { bootstrap: stage.bootstrap, topic, acks: "all", codec: "none", idempotent: true };
  await driver.must("produce", { ...settings, records: [plainRecord("end", "end", 0)] });
  const reader = stage.driver();
  await reader.must("join", {
    consumer: "c",
    bootstrap: stage.bootstrap,
    group: stage.unique("g"),
    topic,
    assignor: "range",
  });
  await reader.until("the end", () => reader.records("c").some((record) => asText(record.key) === "end"));
  return { rounds, consumed: reader.records("c").map((record) => asText(record.value)) };
}

export const recordScenarios: readonly Scenario[] = [
  { name: "codecs-and-acks", run: codecsAndAcks },
  { name: "partitioner", run: partitioner },
  { name: "large-records", run: largeRecords },
  { name: "idempotent-retry", run: idempotentRetry },
];
