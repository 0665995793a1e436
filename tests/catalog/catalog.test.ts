import { afterEach, beforeEach, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManualClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import { Catalog, type CatalogChange } from "../../src/catalog/catalog.ts";
import { Journal } from "../../src/log/journal.ts";
import { nodeDisk } from "../../src/platform/node_disk.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "catalog-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = () => Catalog.open(nodeDisk(), join(directory, "catalog"), new ManualClock(), silentLogger);

test("topics keep their ids, settings and partitions across restarts, with and without a clean close", async () => {
  const first = await open();
  const made = await first.createTopic({ name: "a.b-c_d", partitions: 3, configs: [["retention.ms", "1000"]] });
  await first.createTopic({ name: "gone", partitions: 1 });
  await first.addPartitions("a.b-c_d", 5);
  await first.setConfigs("a.b-c_d", [["segment.bytes", "1048576"]]);
  await first.deleteTopic("gone");
  await first.put("node", "x", { deep: [1] });
  // No close: as after kill -9.
  const second = await open();
  expect(second.clusterId).toBe(first.clusterId);
  expect([...second.topics()].map((topic) => topic.name)).toEqual(["a.b-c_d"]);
  const found = second.topic("a.b-c_d")!;
  expect(found.id).toBe(made.id);
  expect(found.partitions).toBe(5);
  expect([...found.configs]).toEqual([["segment.bytes", "1048576"]]);
  expect(second.topicById(made.id)).toBe(found);
  expect(second.value("node", "x")).toEqual({ deep: [1] });
  second.close();
  const third = await open();
  expect(third.topic("a.b-c_d")).toEqual(found);
  expect(third.clusterId).toBe(first.clusterId);
});

test("a recreated topic has a new id", async () => {
  const catalog = await open();
  const before = await catalog.createTopic({ name: "t", partitions: 1 });
  await catalog.deleteTopic("t");
  const after = await catalog.createTopic({ name: "t", partitions: 1 });
  expect(after.id).not.toBe(before.id);
  expect(catalog.topicById(before.id)).toBeUndefined();
});

test("of two creations of one name at the same time one wins", async () => {
  const catalog = await open();
  const results = await Promise.allSettled([
    catalog.createTopic({ name: "t", partitions: 1 }),
    catalog.createTopic({ name: "t", partitions: 2 }),
  ]);
  expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected"]);
  expect(catalog.topic("t")?.partitions).toBe(1);
});

test("bad names and counts get Kafka's errors", async () => {
  const catalog = await open();
  for (const name of ["", ".", "..", "a b", "ä", "a/b", "x".repeat(250)])
    expect(catalog.creationFault({ name, partitions: 1 })?.errorName).toBe("INVALID_TOPIC_EXCEPTION");
  expect(catalog.creationFault({ name: "x".repeat(249), partitions: 1 })).toBeUndefined();
  expect(catalog.creationFault({ name: "t", partitions: 0 })?.errorName).toBe("INVALID_PARTITIONS");
  await catalog.createTopic({ name: "t", partitions: 2 });
  expect(catalog.creationFault({ name: "t", partitions: 1 })?.errorName).toBe("TOPIC_ALREADY_EXISTS");
  await expect(catalog.addPartitions("t", 2)).rejects.toThrow("would not be an increase");
  await expect(catalog.deleteTopic("u")).rejects.toThrow("no topic 'u'");
});

test("changes are told after they are visible", async () => {
  const catalog = await open();
  const heard: CatalogChange["kind"][] = [];
  catalog.onChange((change) => {
    if (change.kind !== "deleted") expect(catalog.topic(change.topic.name)).toBe(change.topic);
    heard.push(change.kind);
  });
  await catalog.createTopic({ name: "t", partitions: 1 });
  await catalog.addPartitions("t", 2);
  await catalog.setConfigs("t", []);
  await catalog.deleteTopic("t");
  expect(heard).toEqual(["created", "extended", "configured", "deleted"]);
});

test("a torn tail is cut at every length, what is before it stays", async () => {
  const catalog = await open();
  await catalog.createTopic({ name: "kept", partitions: 1 });
  const path = join(directory, "catalog", "0.events");
  const before = readFileSync(path).length;
  await catalog.createTopic({ name: "torn", partitions: 1 });
  const whole = readFileSync(path);
  for (let length = before; length < whole.length; length += 11) {
    writeFileSync(path, whole.subarray(0, length));
    const again = await open();
    expect([...again.topics()].map((topic) => topic.name)).toEqual(["kept"]);
    expect(readFileSync(path).length).toBe(before);
  }
  appendFileSync(path, Buffer.alloc(100));
  const last = await open();
  await last.createTopic({ name: "next", partitions: 1 });
  expect([...(await open()).topics()].map((topic) => topic.name)).toEqual(["kept", "next"]);
});

test("a snapshot replaces the events, and a damaged one stops the start", async () => {
  const catalog = await open();
  for (let at = 0; at < 20; at++) await catalog.createTopic({ name: `t${at}`, partitions: 1 });
  catalog.close();
  const folder = join(directory, "catalog");
  expect(readdirSync(folder).sort()).toEqual(["1.events", "1.snapshot"]);
  expect((await open()).topicCount).toBe(20);
  const path = join(folder, "1.snapshot");
  const bytes = readFileSync(path);
  bytes[bytes.length - 5]! ^= 1;
  writeFileSync(path, bytes);
  await expect(open()).rejects.toThrow("is damaged");
});

test("a lake of a newer version is not opened, and stays as it is", async () => {
  const folder = join(directory, "catalog");
  const { journal } = Journal.open(nodeDisk(), folder, silentLogger);
  await journal.append(new TextEncoder().encode('{"kind":"lake","format":99,"clusterId":"x"}'));
  journal.close();
  const before = readFileSync(join(folder, "0.events"));
  await expect(open()).rejects.toThrow("use a newer version");
  expect(readFileSync(join(folder, "0.events"))).toEqual(before);
});

test("a topic whose name differs from a table's only in case is refused; plain topics may differ so", async () => {
  const catalog = await open();
  const table = { schema: "main", name: "events", sql: "", columns: [], checks: [], unique: [], raw: false };
  await catalog.createTopic({ name: "events", partitions: 1, table });
  expect(catalog.creationFault({ name: "Events", partitions: 1 })?.message).toContain("differs only in case");
  await catalog.createTopic({ name: "orders", partitions: 1 });
  await catalog.createTopic({ name: "Orders", partitions: 1 });
  const again = await open();
  expect(again.creationFault({ name: "EVENTS", partitions: 1 })?.errorName).toBe("INVALID_TOPIC_EXCEPTION");
  await again.deleteTopic("events");
  expect(again.creationFault({ name: "Events", partitions: 1 })).toBeUndefined();
});
