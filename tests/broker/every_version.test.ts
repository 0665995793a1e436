import { afterAll, beforeAll, expect, test } from "bun:test";
import { zeroUuid } from "../../src/base/uuid.ts";
import { handlers } from "../../src/broker/handlers/index.ts";
import { servedApis } from "../../src/protocol/apis.ts";
import { newApiVersionsRequest } from "../../src/protocol/generated/api_versions_request.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { type ApiKey, apis, type RequestOf, type ResponseOf } from "../../src/protocol/generated/index.ts";
import { startTestNode, type TestNode } from "../harness/node.ts";
import { requests } from "../harness/requests.ts";
import { Wire } from "../harness/wire.ts";

let node: TestNode;
let wire: Wire;
let topicId = zeroUuid;
beforeAll(async () => {
  node = await startTestNode();
  wire = await Wire.open(node.kafkaPort);
  const created = await createTopic("t");
  topicId = created.topics[0]!.topicId;
});
afterAll(async () => {
  wire.close();
  await node.remove();
});

function createTopic(name: string) {
  const topics = [{ name, numPartitions: 2, replicationFactor: 1, assignments: [], configs: [] }];
  return wire.call(19, 7, newCreateTopicsRequest({ topics }));
}

/** Every error code in an answer, however deep. */
function errorCodes(value: unknown): number[] {
  if (Array.isArray(value)) return value.flatMap(errorCodes);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "errorCode" ? [inner as number] : errorCodes(inner),
  );
}

/** The refusals that the requests above ask for. */
const expected: Record<number, number[]> = {
  11: [25], // UNKNOWN_MEMBER_ID
  12: [25],
  14: [25],
  20: [3], // UNKNOWN_TOPIC_OR_PARTITION
  34: [57], // LOG_DIR_NOT_FOUND
  37: [37], // INVALID_PARTITIONS
  42: [69], // GROUP_ID_NOT_FOUND
  43: [84], // ELECTION_NOT_NEEDED
  47: [69],
};

test("handlers are exactly the APIs that are advertised", () => {
  expect(handlers.map(({ apiKey }) => apiKey).sort((a, b) => a - b)).toEqual(servedApis.map(({ key }) => key));
});

for (const api of servedApis) {
  const [min, max] = api.versions;
  test(`${api.name} ${min} to ${max}: every version is answered`, async () => {
    const wire = await Wire.open(node.kafkaPort);
    const linesBefore = node.lines.length;
    for (let version = min; version <= max; version++) {
      const request = requests[api.key]!(version, topicId) as RequestOf<ApiKey>;
      const answer: ResponseOf<ApiKey> = await wire.call(api.key, version, request);
      const codes = errorCodes(answer).filter((code) => code !== 0);
      const [code] = expected[api.key] ?? [];
      if (code !== undefined) expect(codes.every((one) => one === code)).toBe(true);
      else if (api.key !== 13 && api.key !== 15) expect({ version, codes }).toEqual({ version, codes: [] });
    }
    wire.close();
    expect(node.lines.slice(linesBefore).filter((line) => line.includes("failed inside the node"))).toEqual([]);
  });
}

test("versions outside of the range close the connection, for every API but ApiVersions", async () => {
  for (const api of servedApis) {
    if (api.key === 18) continue;
    const other = await Wire.open(node.kafkaPort);
    // The header of a too new version cannot be known; this one has the newest form.
    const header = Buffer.alloc(14);
    header.writeInt16BE(api.key, 0);
    header.writeInt16BE(api.versions[1] + 1, 2);
    header.writeInt32BE(7, 4);
    header.writeInt16BE(-1, 8);
    const frame = Buffer.alloc(4);
    frame.writeInt32BE(header.length, 0);
    other.socket.write(Buffer.concat([frame, header]));
    expect(await other.frame()).toBeUndefined();
    other.close();
  }
});

test("what is not served is not advertised and closes the connection", async () => {
  const served = new Set<number>(servedApis.map(({ key }) => key));
  const answer = await wire.call(
    18,
    3,
    newApiVersionsRequest({ clientSoftwareName: "test", clientSoftwareVersion: "1" }),
  );
  expect(new Set(answer.apiKeys.map(({ apiKey }) => apiKey))).toEqual(served);
  for (const key of Object.keys(apis).map(Number)) {
    if (served.has(key)) continue;
    const other = await Wire.open(node.kafkaPort);
    const frame = Buffer.alloc(18);
    frame.writeInt32BE(14, 0);
    frame.writeInt16BE(key, 4);
    frame.writeInt16BE(0, 6);
    frame.writeInt16BE(-1, 12);
    other.socket.write(frame);
    expect(await other.frame()).toBeUndefined();
    other.close();
  }
});
