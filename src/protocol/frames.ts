/**
 * Kafka frames: a 4-byte length, a header, a body. The header's version follows from the API and its version (KIP-482);
 * an ApiVersions answer always has the oldest header, so that a client of any age can read it (KIP-511).
 */
import { type ApiCodec, type ApiKey, apiKeys, apis, type RequestOf, type ResponseOf } from "./generated/index.ts";
import { ProtocolError } from "./protocol_error.ts";
import { Reader } from "./reader.ts";
import { Writer } from "./writer.ts";

export interface RequestHeader {
  apiKey: ApiKey;
  apiVersion: number;
  correlationId: number;
  clientId: string | null;
}

/** Bytes of the length in front of every frame. */
export const frameLengthBytes = 4;

/** The table of codecs for code that holds an API key as a number; undefined for a key that Kafka does not have. */
export function apiByKey(apiKey: number): ApiCodec<unknown, unknown> | undefined {
  return (apis as Record<number, ApiCodec<unknown, unknown>>)[apiKey];
}

export function requestHeaderVersion(apiKey: ApiKey, version: number): 1 | 2 {
  return version >= apis[apiKey].flexibleFrom ? 2 : 1;
}

export function responseHeaderVersion(apiKey: ApiKey, version: number): 0 | 1 {
  return apiKey !== apiKeys.ApiVersions && version >= apis[apiKey].responseFlexibleFrom ? 1 : 0;
}

/**
 * Reads a request's header and leaves `r` at the body. The version is not judged: ApiVersions of an unknown version must
 * be answered, any other one closes the connection (see isServed in apis.ts). Throws ProtocolError for an unknown key.
 */
export function readRequestHeader(r: Reader): RequestHeader {
  const key = r.int16();
  const apiVersion = r.int16();
  const codec = apiByKey(key);
  if (codec === undefined) throw new ProtocolError(`no API has the key ${key}`);
  const correlationId = r.int32();
  const clientId = r.nullableString();
  if (apiVersion >= codec.flexibleFrom) skipTags(r);
  return { apiKey: key as ApiKey, apiVersion, correlationId, clientId };
}

/** Reads a whole request frame without its length. */
export function decodeRequest(frame: Uint8Array): { header: RequestHeader; body: unknown } {
  const r = new Reader(frame);
  const header = readRequestHeader(r);
  return { header, body: apiByKey(header.apiKey)!.readRequest(r, header.apiVersion) };
}

/** A request frame with its length. */
export function encodeRequest<K extends ApiKey>(
  apiKey: K,
  version: number,
  correlationId: number,
  clientId: string | null,
  body: RequestOf<K>,
): Uint8Array[] {
  const w = new Writer();
  w.int32(0);
  w.int16(apiKey);
  w.int16(version);
  w.int32(correlationId);
  w.nullableString(clientId);
  if (requestHeaderVersion(apiKey, version) === 2) w.unknownTags(undefined);
  apiByKey(apiKey)!.writeRequest(w, body, version);
  w.patchInt32(0, w.length - frameLengthBytes);
  return w.finish();
}

/** An answer frame with its length; record data stands in the chunks as it was given. */
export function encodeResponse<K extends ApiKey>(
  apiKey: K,
  version: number,
  correlationId: number,
  body: ResponseOf<K>,
): Uint8Array[] {
  const w = new Writer();
  w.int32(0);
  w.int32(correlationId);
  if (responseHeaderVersion(apiKey, version) === 1) w.unknownTags(undefined);
  apiByKey(apiKey)!.writeResponse(w, body, version);
  w.patchInt32(0, w.length - frameLengthBytes);
  return w.finish();
}

/** Array elements that an answer may hold: a large cluster's Metadata has more than any request. */
const responseElementsMax = 50_000_000;

/** Reads an answer frame without its length. */
export function decodeResponse<K extends ApiKey>(
  apiKey: K,
  version: number,
  frame: Uint8Array,
): { correlationId: number; body: ResponseOf<K> } {
  const r = new Reader(frame, 0, frame.length, responseElementsMax);
  const correlationId = r.int32();
  if (responseHeaderVersion(apiKey, version) === 1) skipTags(r);
  return { correlationId, body: apiByKey(apiKey)!.readResponse(r, version) as ResponseOf<K> };
}

function skipTags(r: Reader): void {
  for (let left = r.unsignedVarint(); left > 0; left--) {
    r.unsignedVarint();
    r.position = r.taggedFieldEnd();
  }
}
