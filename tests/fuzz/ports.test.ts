/**
 * Random and mutated bytes on both ports of a real process: no crash, no hang, no growth. The seed is printed when
 * something fails; ROWLOG_TEST_SEED replays it, ROWLOG_TEST_ROUNDS multiplies the work.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { encodeRequest } from "../../src/protocol/frames.ts";
import { newApiVersionsRequest } from "../../src/protocol/generated/api_versions_request.ts";
import { newMetadataRequest } from "../../src/protocol/generated/metadata_request.ts";
import { type NodeProcess, startNodeProcess } from "../harness/process.ts";
import { requestVectors } from "../harness/requests.ts";
import { Wire } from "../harness/wire.ts";
import { Random, roundsFactor, seed } from "../hotpath/random.ts";

const frames = 200_000 * roundsFactor;
/** Connections at a time. */
const width = 32;

/** Milliseconds without an answer after which a connection is given up. */
const silenceMs = 10;

/** An ApiVersions request with an id of its own, by which its answer is known. */
const pingId = 0x5eed5eed;
const ping = Buffer.concat(encodeRequest(18, 0, pingId, null, newApiVersionsRequest()));

let node: NodeProcess;
let pingAnswer: Buffer;
beforeAll(async () => {
  node = await startNodeProcess();
  const wire = await Wire.open(node.kafkaPort);
  wire.socket.write(ping);
  pingAnswer = Buffer.from((await wire.frame())!);
  wire.close();
});
afterAll(() => node.remove());

/** One frame with its length: a request with some bytes changed, cut, repeated, or just noise. */
function frameOf(random: Random, vectors: Uint8Array[]): Uint8Array {
  const kind = random.below(10);
  if (kind === 0) return framed(random.bytes(random.below(200)));
  const bytes = Uint8Array.from(vectors[random.below(vectors.length)]!);
  if (kind === 1) return framed(bytes.subarray(0, random.below(bytes.length + 1)));
  for (let left = 1 + random.below(4); left > 0; left--) {
    const at = random.below(bytes.length);
    const extremes = [0, 1, 0x7f, 0x80, 0xff, bytes[at]! ^ (1 << random.below(8)), random.below(256)];
    bytes[at] = extremes[random.below(extremes.length)]!;
  }
  return framed(bytes);
}

function framed(body: Uint8Array): Uint8Array {
  const frame = new Uint8Array(4 + body.length);
  new DataView(frame.buffer).setInt32(0, body.length);
  frame.set(body, 4);
  return frame;
}

/** Sends the bytes, reads whatever comes until the peer closes or is silent, and goes. */
function attack(port: number, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const done = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve();
    };
    let timer = setTimeout(done, 1_000);
    socket.on("connect", () => socket.write(bytes));
    socket.on("data", () => {
      clearTimeout(timer);
      timer = setTimeout(done, 5);
    });
    socket.on("error", done);
    socket.on("close", done);
    socket.on("drain", () => {
      clearTimeout(timer);
      timer = setTimeout(done, 10);
    });
  });
}

async function alive(): Promise<void> {
  const wire = await Wire.open(node.kafkaPort);
  const { brokers } = await wire.call(3, 9, newMetadataRequest({ topics: [] }));
  expect(brokers.length).toBe(1);
  wire.close();
  const answer = await fetch(`http://127.0.0.1:${node.httpPort}/livez`);
  expect(answer.status).toBe(200);
}

async function inParallel(count: number, run: () => Promise<void>, goesOn = () => true): Promise<void> {
  let begun = 0;
  const worker = async () => {
    while (begun++ < count && goesOn()) await run();
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/**
 * One connection's worth: frame after frame, each with a good request behind it whose answer shows that the node went on.
 * Ends when the node closes the connection, or holds an answer back (a long poll).
 */
async function converse(next: () => Uint8Array | undefined): Promise<void> {
  const socket = connect({ port: node.kafkaPort, host: "127.0.0.1" });
  let wake: (alive: boolean) => void = () => undefined;
  let tail: Buffer = Buffer.alloc(0);
  socket.on("data", (bytes: Buffer) => {
    tail = bytes.length >= pingAnswer.length ? bytes : Buffer.concat([tail, bytes]);
    tail = tail.subarray(-pingAnswer.length);
    if (tail.equals(pingAnswer)) wake(true);
  });
  socket.on("error", () => wake(false));
  socket.on("end", () => wake(false));
  socket.on("close", () => wake(false));
  for (let frame = next(); frame; frame = next()) {
    const answered = new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), silenceMs);
      wake = (alive) => {
        clearTimeout(timer);
        resolve(alive);
      };
    });
    socket.write(Buffer.concat([frame, ping]));
    if (!(await answered)) break;
  }
  socket.resetAndDestroy();
}

test(`${frames} mutated and random frames on the Kafka port (seed ${seed})`, async () => {
  // CreateTopics comes last and seldom: its topics would make every list of all topics longer, and the test slower.
  const isCreation = (frame: Uint8Array) => frame[1] === 19;
  const vectors = requestVectors();
  const [creations, others] = [vectors.filter(isCreation), vectors.filter((frame) => !isCreation(frame))];
  const random = new Random(seed);
  const burst = (count: number, from = others) => {
    let left = count;
    const next = () => (left-- > 0 ? frameOf(random, from) : undefined);
    return inParallel(
      Number.POSITIVE_INFINITY,
      () => converse(next),
      () => left > 0,
    );
  };
  await burst(frames / 4);
  const before = node.residentBytes();
  await burst((frames * 74) / 100);
  await burst(frames / 100, creations);
  await alive();
  expect(node.residentBytes()).toBeLessThan(before + 300 * 1024 * 1024);
  expect(node.output()).not.toContain("failed inside the node");
}, 900_000);

test(`random and mutated bytes on the HTTP port (seed ${seed})`, async () => {
  const random = new Random(seed + 1);
  const body = '{"sql": "SELECT 1"}';
  const request = `POST /v1/sql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  await inParallel(2_000 * roundsFactor, async () => {
    const bytes = random.below(3) === 0 ? random.bytes(random.below(400)) : new TextEncoder().encode(request);
    for (let left = random.below(6); left > 0; left--) bytes[random.below(bytes.length)] = random.below(256);
    await attack(node.httpPort, bytes);
  });
  await alive();
}, 120_000);
