/** Connections beyond the cap are closed, and take nothing from those that are there: neither answers nor files of the logs. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { limits } from "../../src/base/limits.ts";
import { zeroUuid } from "../../src/base/uuid.ts";
import { connectionsAllowed } from "../../src/broker/broker.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { newProduceRequest } from "../../src/protocol/generated/produce_request.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { type NodeProcess, startNodeProcess } from "../harness/process.ts";
import { Wire } from "../harness/wire.ts";

test("connections leave files to the logs, but get some of the fewest", () => {
  expect(connectionsAllowed(Number.POSITIVE_INFINITY)).toBe(limits.connectionsMax);
  expect(connectionsAllowed(1_048_576)).toBe(limits.connectionsMax);
  expect(connectionsAllowed(1_024)).toBe(1_024 - limits.filesReserved);
  expect(connectionsAllowed(400)).toBe(100);
  expect(connectionsAllowed(2)).toBe(1);
});

const filesMax = 400;
let node: NodeProcess;
beforeAll(async () => {
  node = await startNodeProcess([], undefined, ["sh", "-c", `ulimit -n ${filesMax} && exec "$@"`, "sh"]);
});
afterAll(() => node.remove());

test.skipIf(process.platform !== "linux")("a peer with too many connections fails nobody's produce", async () => {
  const wire = await Wire.open(node.kafkaPort);
  const topics = [{ name: "t", numPartitions: 8, replicationFactor: 1, assignments: [], configs: [] }];
  expect((await wire.call(19, 7, newCreateTopicsRequest({ topics }))).topics[0]!.errorCode).toBe(0);
  let closed = 0;
  const sockets: Socket[] = [];
  for (let made = 0; made < filesMax + 100; made++) {
    const socket = connect(node.kafkaPort, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.on("close", () => closed++);
    sockets.push(socket);
  }
  const refused = sockets.length - (connectionsAllowed(filesMax) - 1);
  for (let waited = 0; closed < refused && waited < 10_000; waited += 20)
    await new Promise((wake) => setTimeout(wake, 20));
  expect(closed).toBe(refused);
  const records = encodeBatch([{ value: "v", timestamp: Date.now() }]);
  const partitionData = Array.from({ length: 8 }, (_, index) => ({ index, records }));
  const topicData = [{ name: "t", topicId: zeroUuid, partitionData }];
  const answer = await wire.call(0, 9, newProduceRequest({ acks: -1, timeoutMs: 5_000, topicData }));
  expect(answer.responses[0]!.partitionResponses.map(({ errorCode }) => errorCode)).toEqual(Array(8).fill(0));
  for (const socket of sockets) socket.destroy();
  wire.close();
});
