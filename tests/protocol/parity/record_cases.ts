/** Cases about records: produce, fetch, offsets, producers, records deleted. */
import { Buffer } from "node:buffer";
import { codecs } from "../../../src/hotpath/codecs.ts";
import { type EncodeOptions, encodeBatch } from "../../../src/protocol/records/encode.ts";
import { asks, type Case, inTurn, makeTopic } from "./case.ts";
import { type Peer, versionsOf } from "./peer.ts";

const newId = "AAAAAAAAAAAAAAAAAAAA7w";
const zero = "AAAAAAAAAAAAAAAAAAAAAA";

let batches = 0;

/** Each batch a little later than the one before, so that times tell them apart however fast the broker is. */
function batch(values: (string | null)[], options: EncodeOptions = {}): Uint8Array {
  const timestamp = Date.now() + 10 * ++batches;
  return encodeBatch(
    values.map((value) => ({ value, key: "k", timestamp })),
    options,
  );
}

/** One partition's records as a Produce request. */
function produce(name: string, records: Uint8Array | null, fields: object = {}, index = 0) {
  return { acks: -1, timeoutMs: 5000, topicData: [{ name, partitionData: [{ index, records }] }], ...fields };
}

function changed(records: Uint8Array, at: number, value: number): Uint8Array {
  const copy = records.slice();
  copy[at] = value;
  return copy;
}

function joined(...parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

function fetch(name: string, fields: object = {}, partition: object = {}) {
  const one = { partition: 0, fetchOffset: 0, partitionMaxBytes: 1_000_000, ...partition };
  return { maxWaitMs: 50, minBytes: 1, maxBytes: 1_000_000, topics: [{ topic: name, partitions: [one] }], ...fields };
}

async function filled(peer: Peer, name: string, batches = 3): Promise<{ name: string; id: string }> {
  const topic = await makeTopic(peer, name, 2);
  for (let i = 0; i < batches; i++) await peer.raw("Produce", 9, produce(topic.name, batch([`a${i}`, `b${i}`])));
  return topic;
}

const timeOfDuplicate =
  "Kafka gives the first append's time for a duplicate even under CreateTime; a producer uses it only as LogAppendTime";

export const recordCases: Case[] = [
  {
    name: "Produce in every version",
    async run(peer) {
      const { name, id } = await makeTopic(peer, "t");
      return inTurn(
        versionsOf("Produce").map((version) => () => {
          const records = batch([`v${version}`]);
          const topicId = version >= 13 ? id : zero;
          const topicData = [{ name: version >= 13 ? "" : name, topicId, partitionData: [{ index: 0, records }] }];
          return peer.ask("Produce", version, { acks: version % 2 === 0 ? 1 : -1, timeoutMs: 1000, topicData });
        }),
      );
    },
  },
  {
    name: "Produce to what is not there",
    async run(peer) {
      const { name } = await makeTopic(peer, "t");
      const records = batch(["x"]);
      const byId = (topicId: string) => ({
        acks: -1,
        timeoutMs: 1000,
        topicData: [{ topicId, partitionData: [{ index: 0, records }] }],
      });
      return asks(
        peer,
        ["Produce", 9, produce(`${peer.prefix}no`, records)],
        ["Produce", 9, produce(" a", records)],
        ["Produce", 9, produce("", records)],
        ["Produce", 9, produce(name, records, {}, 1)],
        ["Produce", 9, produce(name, records, {}, -1)],
        ["Produce", 13, byId(newId)],
        ["Produce", 13, byId(zero)],
        ["Produce", 9, produce(name, records, { acks: 2 })],
        ["Produce", 9, produce(name, records, { acks: -2 })],
        ["Produce", 9, { acks: -1, topicData: [] }],
        ["Produce", 9, { acks: -1, topicData: [{ name, partitionData: [] }] }],
        ["Produce", 9, produce(name, records)],
      );
    },
  },
  {
    name: "Produce of bad batches",
    async run(peer) {
      const { name } = await makeTopic(peer, "t");
      const compacted = await makeTopic(peer, "compacted", 1, [["cleanup.policy", "compact"]]);
      const small = await makeTopic(peer, "small", 1, [["max.message.bytes", "200"]]);
      const strict = await makeTopic(peer, "strict", 1, [["message.timestamp.before.max.ms", "1000"]]);
      const good = batch(["a", "b"]);
      const old = encodeBatch([{ value: "x", timestamp: Date.now() - 60_000 }]);
      const early = encodeBatch([{ value: "x", timestamp: Date.now() + 7_200_000 }]);
      const keyless = encodeBatch([{ value: "x", timestamp: Date.now() }]);
      const zstd = batch(["zstd"], { codec: codecs.zstd });
      const ask =
        (to: string, records: Uint8Array | null, version = 9) =>
        () =>
          peer.ask("Produce", version, produce(to, records));
      return inTurn([
        ask(name, null),
        ask(name, new Uint8Array(0)),
        ask(name, good.slice(0, 20)),
        ask(name, good.slice(0, good.length - 1)),
        ask(name, joined(good, new Uint8Array(5))),
        ask(name, joined(good, good)),
        ask(name, changed(good, 16, 1)),
        ask(name, changed(good, 16, 0)),
        ask(name, changed(good, 16, 3)),
        ask(name, changed(good, 17, good[17]! ^ 1)),
        ask(name, changed(good, good.length - 1, 77)),
        ask(compacted.name, keyless),
        ask(compacted.name, good),
        ask(small.name, batch(["x".repeat(500)])),
        ask(small.name, good),
        ask(strict.name, old),
        ask(name, early),
        ask(name, zstd, 6),
        ask(name, zstd, 7),
        ask(name, batch(["control"], { isControl: true })),
        ask(name, batch(["offset"], { baseOffset: 5 })),
        ask(name, batch(["gap"], { lastOffsetDelta: 4 })),
        ask(
          name,
          batch(["transactional"], { isTransactional: true, producerId: 1n, producerEpoch: 0, baseSequence: 0 }),
        ),
        ask(name, batch(["half"], { producerId: 1n })),
      ]);
    },
    differs: { 0: "Kafka 4.4 never answers null records; nobody is left waiting here" },
  },
  {
    name: "Produce by an idempotent producer",
    async run(peer) {
      const { name } = await makeTopic(peer, "t", 2);
      const { producerId } = await peer.raw("InitProducerId", 4, {
        transactionalId: null,
        transactionTimeoutMs: 60_000,
      });
      const send =
        (baseSequence: number, values: string[], producerEpoch = 0, id: bigint = producerId) =>
        () =>
          peer.ask("Produce", 9, produce(name, batch(values, { producerId: id, producerEpoch, baseSequence })));
      return inTurn([
        send(0, ["a", "b"]),
        send(0, ["a", "b"]),
        send(2, ["c"]),
        send(4, ["e"]),
        send(1, ["b"]),
        send(0, ["a", "b"]),
        send(3, ["d"]),
        send(4, ["e"]),
        send(5, ["f"]),
        send(6, ["g"]),
        send(0, ["a", "b"]),
        send(2, ["c"]),
        send(3, ["d"]),
        send(0, ["epoch"], 1),
        send(7, ["h"]),
        send(1, ["epoch"], 1),
        send(3, ["epoch"], 3),
        send(0, ["epoch"], 3),
        send(7, ["unknown"], 0, producerId + 1000n),
        () => peer.ask("DescribeProducers", 0, { topics: [{ name, partitionIndexes: [0, 1, 9] }] }),
        () => peer.ask("DescribeProducers", 0, { topics: [{ name: `${peer.prefix}no`, partitionIndexes: [0] }] }),
      ]);
    },
    differs: {
      1: timeOfDuplicate,
      5: timeOfDuplicate,
      11: timeOfDuplicate,
      12: timeOfDuplicate,
    },
  },
  {
    name: "InitProducerId",
    run: (peer) =>
      asks(
        peer,
        ["InitProducerId", 0, { transactionalId: null, transactionTimeoutMs: 1000 }],
        ["InitProducerId", 4, { transactionalId: null, transactionTimeoutMs: -1 }],
        ["InitProducerId", 4, { transactionalId: null, transactionTimeoutMs: 1000, producerId: 5, producerEpoch: 3 }],
        ["InitProducerId", 4, { transactionalId: null, transactionTimeoutMs: 1000, producerId: 5, producerEpoch: -1 }],
        ["InitProducerId", 5, { transactionalId: "", transactionTimeoutMs: 1000 }],
      ),
  },
  {
    name: "Fetch in every version",
    async run(peer) {
      const { name, id } = await filled(peer, "t");
      return inTurn(
        versionsOf("Fetch").map((version) => () => {
          const topic = version >= 13 ? { topicId: id } : { topic: name };
          const partitions = [{ partition: 0, fetchOffset: 2, partitionMaxBytes: 1_000_000 }];
          return peer.ask("Fetch", version, { maxWaitMs: 50, minBytes: 1, topics: [{ ...topic, partitions }] });
        }),
      );
    },
  },
  {
    name: "Fetch at every edge",
    async run(peer) {
      const { name } = await filled(peer, "t");
      const byId = (topicId: string, version = 13) =>
        [
          "Fetch",
          version,
          {
            maxWaitMs: 10,
            minBytes: 1,
            topics: [{ topicId, partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1000 }] }],
          },
        ] as Parameters<Peer["ask"]>;
      return asks(
        peer,
        ["Fetch", 12, fetch(name, {}, { fetchOffset: 6 })],
        ["Fetch", 12, fetch(name, {}, { fetchOffset: 7 })],
        ["Fetch", 12, fetch(name, {}, { fetchOffset: -1 })],
        ["Fetch", 12, fetch(name, {}, { partition: 5 })],
        ["Fetch", 12, fetch(`${peer.prefix}no`)],
        ["Fetch", 12, fetch(name, { maxBytes: 1 })],
        ["Fetch", 12, fetch(name, { maxBytes: 0 })],
        ["Fetch", 12, fetch(name, {}, { partitionMaxBytes: 1 })],
        ["Fetch", 12, fetch(name, {}, { partitionMaxBytes: 0 })],
        ["Fetch", 4, fetch(name, {}, { partitionMaxBytes: 1, fetchOffset: 1 })],
        ["Fetch", 12, fetch(name, {}, { partitionMaxBytes: 150, fetchOffset: 0 })],
        ["Fetch", 12, fetch(name, { minBytes: 0 }, { fetchOffset: 6 })],
        ["Fetch", 12, fetch(name, {}, { currentLeaderEpoch: 0 })],
        ["Fetch", 12, fetch(name, {}, { currentLeaderEpoch: 7 })],
        ["Fetch", 12, fetch(name, {}, { lastFetchedEpoch: 0, fetchOffset: 2 })],
        ["Fetch", 12, fetch(name, { isolationLevel: 1 })],
        ["Fetch", 12, { maxWaitMs: 10, minBytes: 1, topics: [] }],
        byId(newId),
        byId(zero),
      );
    },
    differs: { 10: "Kafka cuts the last batch at the partition's limit; this node sends whole batches only" },
  },
  {
    name: "Fetch sessions",
    async run(peer) {
      const { name, id } = await filled(peer, "t");
      const first = await peer.raw("Fetch", 12, fetch(name, { sessionEpoch: 0 }));
      const sessionId = first.sessionId;
      const byId = [{ topicId: id, partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1_000_000 }] }];
      return inTurn([
        () => peer.ask("Fetch", 12, fetch(name, { sessionEpoch: 0 })),
        () => peer.ask("Fetch", 12, { maxWaitMs: 10, minBytes: 1, sessionId, sessionEpoch: 1, topics: [] }),
        () => peer.ask("Fetch", 12, fetch(name, { sessionId, sessionEpoch: 2 }, { fetchOffset: 6 })),
        () => peer.ask("Fetch", 12, { maxWaitMs: 10, minBytes: 1, sessionId, sessionEpoch: 3, topics: [] }),
        () => peer.raw("Produce", 9, produce(name, batch(["new"]))).then(() => "produced"),
        () => peer.ask("Fetch", 12, { maxWaitMs: 10, minBytes: 1, sessionId, sessionEpoch: 4, topics: [] }),
        () => peer.ask("Fetch", 12, { maxWaitMs: 10, minBytes: 1, sessionId, sessionEpoch: 9, topics: [] }),
        () =>
          peer.ask("Fetch", 12, { maxWaitMs: 10, minBytes: 1, sessionId: sessionId + 1, sessionEpoch: 5, topics: [] }),
        () => peer.ask("Fetch", 13, { maxWaitMs: 10, minBytes: 1, sessionId, sessionEpoch: 5, topics: byId }),
        () =>
          peer.ask("Fetch", 12, {
            maxWaitMs: 10,
            minBytes: 1,
            sessionId,
            sessionEpoch: 5,
            topics: [],
            forgottenTopicsData: [{ topic: name, partitions: [0] }],
          }),
        () => peer.ask("Fetch", 12, { maxWaitMs: 10, minBytes: 1, sessionId, sessionEpoch: 6, topics: [] }),
        () => peer.ask("Fetch", 12, { maxWaitMs: 10, minBytes: 1, sessionId, sessionEpoch: -1, topics: [] }),
        () => peer.ask("Fetch", 12, { maxWaitMs: 10, minBytes: 1, sessionId, sessionEpoch: 7, topics: [] }),
        () => peer.ask("Fetch", 12, { maxWaitMs: 10, minBytes: 1, sessionId: 0, sessionEpoch: 1, topics: [] }),
      ]);
    },
  },
  {
    name: "ListOffsets in every version and of every kind",
    async run(peer) {
      const { name } = await filled(peer, "t");
      const of = (timestamp: number, fields: object = {}, topic = name) => ({
        replicaId: -1,
        topics: [{ name: topic, partitions: [{ partitionIndex: 0, timestamp, ...fields }] }],
      });
      const every = await inTurn(
        versionsOf("ListOffsets").map((version) => () => peer.ask("ListOffsets", version, of(-1))),
      );
      const kinds = await asks(
        peer,
        ["ListOffsets", 1, of(-2)],
        ["ListOffsets", 7, of(-3)],
        ["ListOffsets", 6, of(-3)],
        ["ListOffsets", 8, of(-4)],
        ["ListOffsets", 9, of(-5)],
        ["ListOffsets", 11, of(-6)],
        ["ListOffsets", 11, of(-7)],
        ["ListOffsets", 11, of(0)],
        ["ListOffsets", 11, of(1)],
        ["ListOffsets", 11, of(9_999_999_999_999)],
        ["ListOffsets", 11, of(-1, { partitionIndex: 9 })],
        ["ListOffsets", 11, of(-1, {}, `${peer.prefix}no`)],
        ["ListOffsets", 11, of(-1, { currentLeaderEpoch: 0 })],
        ["ListOffsets", 11, of(-1, { currentLeaderEpoch: 7 })],
        ["ListOffsets", 11, { ...of(-1), isolationLevel: 1 }],
        ["ListOffsets", 11, { replicaId: -1, topics: [] }],
        [
          "ListOffsets",
          11,
          {
            replicaId: -1,
            topics: [
              {
                name,
                partitions: [
                  { partitionIndex: 0, timestamp: -1 },
                  { partitionIndex: 0, timestamp: -2 },
                ],
              },
            ],
          },
        ],
        ["ListOffsets", 11, of(-1, { partitionIndex: 1 })],
        ["ListOffsets", 11, of(-3, { partitionIndex: 1 })],
      );
      return [...every, ...kinds];
    },
  },
  {
    name: "ListOffsets by time, inside batches, out of order, compressed",
    async run(peer) {
      // Records this old are past any retention, which would take them away in the middle of the case.
      const { name } = await makeTopic(peer, "t", 2, [["retention.ms", "-1"]]);
      const send = (times: number[], options: EncodeOptions = {}) => {
        const records = encodeBatch(
          times.map((timestamp) => ({ value: `at ${timestamp}`, timestamp })),
          options,
        );
        return peer.raw("Produce", 9, produce(name, records));
      };
      await send([1000, 2000, 3000]);
      await send([6000, 4000, 5000], { codec: codecs.gzip });
      await send([500]);
      await send([7000, 7000, 6500], { codec: codecs.lz4 });
      const at = (timestamp: number) => ({ topics: [{ name, partitions: [{ partitionIndex: 0, timestamp }] }] });
      const times = [
        0, 1, 1000, 1001, 2000, 2500, 3001, 4000, 4500, 5000, 6000, 6001, 6500, 7000, 7001, -1, -2, -3, -4, -5,
      ];
      const before = await inTurn(times.map((time) => () => peer.ask("ListOffsets", 9, at(time))));
      await peer.raw("DeleteRecords", 2, {
        topics: [{ name, partitions: [{ partitionIndex: 0, offset: 5 }] }],
        timeoutMs: 5000,
      });
      const after = await inTurn(
        [0, 1000, 4000, 5500, 6600, -2, -3, -4].map((time) => () => peer.ask("ListOffsets", 9, at(time))),
      );
      return [...before, ...after];
    },
  },
  {
    name: "OffsetForLeaderEpoch",
    async run(peer) {
      const { name } = await filled(peer, "t");
      const of = (leaderEpoch: number, fields: object = {}, topic = name) => ({
        replicaId: -1,
        topics: [{ topic, partitions: [{ partition: 0, leaderEpoch, ...fields }] }],
      });
      return asks(
        peer,
        ["OffsetForLeaderEpoch", 2, of(0)],
        ["OffsetForLeaderEpoch", 3, of(0)],
        ["OffsetForLeaderEpoch", 4, of(0)],
        ["OffsetForLeaderEpoch", 4, of(7)],
        ["OffsetForLeaderEpoch", 4, of(-1)],
        ["OffsetForLeaderEpoch", 4, of(0, { currentLeaderEpoch: 0 })],
        ["OffsetForLeaderEpoch", 4, of(0, { currentLeaderEpoch: 7 })],
        ["OffsetForLeaderEpoch", 4, of(0, { partition: 9 })],
        ["OffsetForLeaderEpoch", 4, of(0, {}, `${peer.prefix}no`)],
      );
    },
  },
  {
    name: "DeleteRecords, and what is left",
    async run(peer) {
      const { name } = await filled(peer, "t");
      const before = (offset: number, partitionIndex = 0, topic = name) => ({
        topics: [{ name: topic, partitions: [{ partitionIndex, offset }] }],
        timeoutMs: 5000,
      });
      return asks(
        peer,
        ["DeleteRecords", 2, before(3)],
        ["DeleteRecords", 0, before(2)],
        ["DeleteRecords", 2, before(99)],
        ["DeleteRecords", 2, before(-2)],
        ["DeleteRecords", 2, before(0, 9)],
        ["DeleteRecords", 2, before(0, 0, `${peer.prefix}no`)],
        ["DeleteRecords", 2, { topics: [], timeoutMs: 1000 }],
        ["ListOffsets", 7, { topics: [{ name, partitions: [{ partitionIndex: 0, timestamp: -2 }] }] }],
        ["Fetch", 12, fetch(name, {}, { fetchOffset: 1 })],
        ["Fetch", 12, fetch(name, {}, { fetchOffset: 3 })],
        ["DeleteRecords", 2, before(-1)],
        ["ListOffsets", 7, { topics: [{ name, partitions: [{ partitionIndex: 0, timestamp: -2 }] }] }],
        ["ListOffsets", 7, { topics: [{ name, partitions: [{ partitionIndex: 0, timestamp: 0 }] }] }],
        ["Fetch", 12, fetch(name, {}, { fetchOffset: 6 })],
      );
    },
  },
  {
    name: "DescribeLogDirs",
    async run(peer) {
      const { name } = await filled(peer, "t");
      return asks(
        peer,
        ["DescribeLogDirs", 1, { topics: [{ topic: name, partitions: [0] }] }],
        ["DescribeLogDirs", 4, { topics: [{ topic: name, partitions: [0, 1, 7] }] }],
        ["DescribeLogDirs", 5, { topics: [{ topic: `${peer.prefix}no`, partitions: [0] }] }],
        ["DescribeLogDirs", 4, { topics: [] }],
      );
    },
  },
  {
    name: "LogAppendTime",
    async run(peer) {
      const { name } = await makeTopic(peer, "t", 1, [["message.timestamp.type", "LogAppendTime"]]);
      return asks(
        peer,
        ["Produce", 9, produce(name, batch(["a"]))],
        ["ListOffsets", 7, { topics: [{ name, partitions: [{ partitionIndex: 0, timestamp: -3 }] }] }],
        ["Fetch", 12, fetch(name)],
      );
    },
  },
];
