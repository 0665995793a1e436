/** Headers and frames: versions of headers, unknown APIs, and the table of what is served. */
import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { isServed, servedApi, servedApis } from "../../src/protocol/apis.ts";
import {
  decodeRequest,
  decodeResponse,
  encodeRequest,
  encodeResponse,
  readRequestHeader,
  requestHeaderVersion,
  responseHeaderVersion,
} from "../../src/protocol/frames.ts";
import { newApiVersionsRequest } from "../../src/protocol/generated/api_versions_request.ts";
import { newApiVersionsResponse } from "../../src/protocol/generated/api_versions_response.ts";
import {
  newFetchableTopicResponse,
  newFetchResponse,
  newPartitionData,
} from "../../src/protocol/generated/fetch_response.ts";
import { apiKeys, apis } from "../../src/protocol/generated/index.ts";
import { newMetadataRequest } from "../../src/protocol/generated/metadata_request.ts";
import { ProtocolError } from "../../src/protocol/protocol_error.ts";
import { Reader } from "../../src/protocol/reader.ts";

test("header versions follow the flexible versions, but for ApiVersions answers", () => {
  expect([requestHeaderVersion(3, 8), requestHeaderVersion(3, 9)]).toEqual([1, 2]);
  expect([responseHeaderVersion(3, 8), responseHeaderVersion(3, 9)]).toEqual([0, 1]);
  expect([requestHeaderVersion(18, 2), requestHeaderVersion(18, 3), requestHeaderVersion(18, 99)]).toEqual([1, 2, 2]);
  for (const version of [0, 3, 5, 99]) expect(responseHeaderVersion(18, version)).toBe(0);
  expect([requestHeaderVersion(17, 1), responseHeaderVersion(17, 1)]).toEqual([1, 0]);
});

test("a request frame and back", () => {
  for (const version of [0, 8, 9, 13]) {
    const [frame, ...rest] = encodeRequest(
      apiKeys.Metadata,
      version,
      -5,
      version === 0 ? null : "kätzchen",
      newMetadataRequest(),
    );
    expect(rest).toEqual([]);
    expect(Buffer.from(frame!).readInt32BE(0)).toBe(frame!.length - 4);
    const { header, body } = decodeRequest(frame!.subarray(4));
    expect(header).toEqual({
      apiKey: 3,
      apiVersion: version,
      correlationId: -5,
      clientId: version === 0 ? null : "kätzchen",
    });
    expect(body).toEqual(newMetadataRequest());
  }
});

test("a header of an unknown version can be read, one of an unknown API cannot", () => {
  const [frame] = encodeRequest(apiKeys.ApiVersions, 3, 9, "x", newApiVersionsRequest());
  const changed = frame!.slice(4);
  changed[3] = 99;
  const r = new Reader(changed);
  expect(readRequestHeader(r)).toEqual({ apiKey: 18, apiVersion: 99, correlationId: 9, clientId: "x" });
  for (const key of [999, -1, 5]) {
    new DataView(changed.buffer).setInt16(0, key);
    expect(() => readRequestHeader(new Reader(changed))).toThrow(ProtocolError);
  }
});

test("tagged fields of a header are skipped", () => {
  const hex = "00120003000000070001610105020101" + "02780231" + "00";
  const { header, body } = decodeRequest(Buffer.from(hex, "hex"));
  expect(header.correlationId).toBe(7);
  expect(body).toMatchObject({ clientSoftwareName: "x", clientSoftwareVersion: "1" });
});

test("an ApiVersions answer for an unknown version is Apache Kafka's, byte for byte", () => {
  const apiKeysOnly = [{ apiKey: 18, minVersion: 0, maxVersion: 5 }];
  const chunks = encodeResponse(18, 0, 77, newApiVersionsResponse({ errorCode: 35, apiKeys: apiKeysOnly }));
  expect(Buffer.concat(chunks).toString("hex")).toBe("000000100000004d002300000001001200000005");
});

test("record data of an answer is not copied", () => {
  const records = [new Uint8Array(5000).fill(1), new Uint8Array(6000).fill(2)];
  const partitions = [newPartitionData({ partitionIndex: 1, records })];
  const body = newFetchResponse({ responses: [newFetchableTopicResponse({ topic: "t", partitions })] });
  for (const version of [4, 11, 12]) {
    const chunks = encodeResponse(apiKeys.Fetch, version, 3, body);
    for (const piece of records) expect(chunks.filter((chunk) => chunk === piece)).toHaveLength(1);
    const frame = Buffer.concat(chunks);
    expect(frame.readInt32BE(0)).toBe(frame.length - 4);
    const answer = decodeResponse(apiKeys.Fetch, version, frame.subarray(4));
    expect(answer.correlationId).toBe(3);
    const [partition] = answer.body.responses[0]!.partitions;
    expect(Buffer.from(partition!.records as Uint8Array).equals(Buffer.concat(records))).toBe(true);
  }
});

test("what is served lies in the generated versions and is in order", () => {
  expect(servedApis.map((api) => api.key)).toEqual([...servedApis.map((api) => api.key)].sort((a, b) => a - b));
  for (const api of servedApis) {
    const { requestVersions, name } = apis[api.key];
    expect(api.name).toBe(name as typeof api.name);
    expect(api.versions[0]).toBe(requestVersions[0]);
    expect(api.versions[1]).toBeLessThanOrEqual(requestVersions[1]);
    expect(isServed(api.key, api.versions[0])).toBe(true);
    expect(isServed(api.key, api.versions[1] + 1)).toBe(false);
    expect(isServed(api.key, api.versions[0] - 1)).toBe(false);
  }
  expect(servedApi(apiKeys.Produce)).toMatchObject({ advertised: [0, 13], versions: [3, 13] });
  expect(servedApi(apiKeys.AddPartitionsToTxn)).toBeUndefined();
});
