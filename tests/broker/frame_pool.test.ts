/** Large frames share memory with later ones: nothing that is stored, or on its way to a consumer, may change for that. */
import { expect, test } from "bun:test";
import { BufferPool } from "../../src/base/buffer_pool.ts";
import { zeroUuid } from "../../src/base/uuid.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { newFetchPartition, newFetchRequest, newFetchTopic } from "../../src/protocol/generated/fetch_request.ts";
import { newProduceRequest } from "../../src/protocol/generated/produce_request.ts";
import { decodeBatches } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { startTestNode } from "../harness/node.ts";
import { Wire } from "../harness/wire.ts";

test("a pool gives back what it was given, and takes nothing that is not its own", () => {
  const pool = new BufferPool(300_000);
  const first = pool.take(100_000);
  expect(pool.owns(first.buffer)).toBe(true);
  pool.give(first.buffer);
  const second = pool.take(120_000);
  expect(second.buffer).toBe(first.buffer);
  expect(second.length).toBe(120_000);
  expect(pool.take(120_000).buffer).not.toBe(first.buffer);
  const foreign = new Uint8Array(131_072);
  pool.give(foreign.buffer);
  expect(pool.owns(foreign.buffer)).toBe(false);
  expect(pool.take(131_072).buffer).not.toBe(foreign.buffer);
});

test("a pool keeps no more than its bound", () => {
  const pool = new BufferPool(200_000);
  const [one, two] = [pool.take(131_072), pool.take(131_072)];
  pool.give(one.buffer);
  pool.give(two.buffer);
  expect(pool.take(131_072).buffer).toBe(one.buffer);
  expect(pool.take(131_072).buffer).not.toBe(two.buffer);
});

test("a trim lets go of what was not needed since the last one, and only of that", () => {
  const pool = new BufferPool(1_000_000);
  const [one, two] = [pool.take(131_072), pool.take(131_072)];
  pool.give(one.buffer);
  pool.give(two.buffer);
  pool.trim();
  // Both were in use until now. From here on one is enough.
  pool.give(pool.take(131_072).buffer);
  pool.trim();
  const [again, fresh] = [pool.take(131_072), pool.take(131_072)];
  const buffers: ArrayBufferLike[] = [one.buffer, two.buffer];
  expect(buffers).toContain(again.buffer);
  expect(buffers).not.toContain(fresh.buffer);
});

/** A value that says whose it is in every part of it. */
function payloadOf(producer: number, at: number, size: number): Uint8Array {
  const value = Buffer.alloc(size, (producer * 31 + at * 7) & 0xff);
  for (let place = 0; place + 8 <= size; place += 4096) value.writeUInt32BE(producer * 100_000 + at, place);
  return value;
}

const producers = 4;
const perProducer = 60;
const sizeOf = (at: number) => 300_000 + (at % 3) * 250_000;

async function produceAll(port: number, producer: number): Promise<void> {
  const wire = await Wire.open(port);
  const inFlight = 4;
  for (let at = 0; at < perProducer; at++) {
    const records = encodeBatch([{ value: payloadOf(producer, at, sizeOf(at)), timestamp: Date.now() }]);
    // Two partitions in every third request: their batches share one frame.
    const indexes = at % 3 === 0 ? [0, 1] : [0];
    const partitionData = indexes.map((index) => ({ index, records }));
    const topicData = [{ name: `t${producer}`, topicId: zeroUuid, partitionData }];
    wire.send(0, 9, newProduceRequest({ acks: -1, timeoutMs: 5_000, topicData }));
    if (at >= inFlight) expect((await wire.answer(0, 9)).body.responses[0]!.partitionResponses[0]!.errorCode).toBe(0);
  }
  for (let left = inFlight; left > 0; left--) await wire.answer(0, 9);
  wire.close();
}

/** Reads a partition as it grows; `pause` leaves answers in the socket for a while. */
async function readAll(port: number, producer: number, partition: number, pause: number): Promise<void> {
  const wire = await Wire.open(port);
  const wanted = Array.from({ length: perProducer }, (_, at) => at).filter((at) => partition === 0 || at % 3 === 0);
  let offset = 0;
  while (offset < wanted.length) {
    const asked = newFetchPartition({ partition, fetchOffset: BigInt(offset), partitionMaxBytes: 4 << 20 });
    const topics = [newFetchTopic({ topic: `t${producer}`, partitions: [asked] })];
    wire.send(1, 11, newFetchRequest({ maxWaitMs: 500, minBytes: 1, maxBytes: 50 << 20, topics }));
    if (pause > 0) {
      wire.socket.pause();
      await Bun.sleep(pause);
      wire.socket.resume();
    }
    const { body } = await wire.answer(1, 11);
    for (const batch of decodeBatches(body.responses[0]!.partitions[0]!.records as Uint8Array))
      for (const { value } of batch) {
        const at = wanted[offset++]!;
        expect(Buffer.compare(value!, payloadOf(producer, at, sizeOf(at)))).toBe(0);
      }
  }
  wire.close();
}

for (const durability of ["sync", "os"])
  test(`stored records and answers under way keep their bytes (${durability})`, async () => {
    const node = await startTestNode({ durability });
    const admin = await Wire.open(node.kafkaPort);
    const settings = { numPartitions: 2, replicationFactor: 1, assignments: [], configs: [] };
    const topics = Array.from({ length: producers }, (_, at) => ({ name: `t${at}`, ...settings }));
    await admin.call(19, 7, newCreateTopicsRequest({ topics }));
    const all = Array.from({ length: producers }, (_, producer) => producer);
    await Promise.all([
      ...all.map((producer) => produceAll(node.kafkaPort, producer)),
      ...all.slice(0, 2).map((producer) => readAll(node.kafkaPort, producer, 0, producer * 20)),
    ]);
    for (const producer of all) for (const partition of [0, 1]) await readAll(node.kafkaPort, producer, partition, 0);
    admin.close();
    await node.remove();
  }, 120_000);
