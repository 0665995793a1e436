/** Cases about frames themselves: what closes a connection, and what a broker answers to versions that it does not have. */
import { Buffer } from "node:buffer";
import type { Value } from "../twin.ts";
import { asks, type Case, inTurn } from "./case.ts";

/** A frame: header (version 2 when `flexible`) with client id "me" and correlation id 77, then the body in hex. */
function frame(key: number, version: number, flexible: boolean, body = ""): string {
  const header = Buffer.alloc(12);
  header.writeInt16BE(key, 0);
  header.writeInt16BE(version, 2);
  header.writeInt32BE(77, 4);
  header.writeInt16BE(2, 8);
  header.write("me", 10);
  const rest = Buffer.from(`${flexible ? "00" : ""}${body}`, "hex");
  const length = Buffer.alloc(4);
  length.writeInt32BE(header.length + rest.length);
  return Buffer.concat([length, header, rest]).toString("hex");
}

const softwareX = "0278023100";
const http = Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n").toString("hex");

const frames: [title: string, hex: string][] = [
  ["ApiVersions 99", frame(18, 99, true, softwareX)],
  ["ApiVersions 6", frame(18, 6, true, softwareX)],
  ["ApiVersions 99 with junk", frame(18, 99, true, "010203040506")],
  ["ApiVersions -1", frame(18, -1, false)],
  ["ApiVersions 32767", frame(18, 32767, true)],
  ["ApiVersions 99 with an old header", frame(18, 99, false)],
  ["Produce 0", frame(0, 0, false, "ffff0001000003e800000000")],
  ["Produce 2", frame(0, 2, false, "ffff0001000003e800000000")],
  ["Produce 14", frame(0, 14, true)],
  ["Fetch 3", frame(1, 3, false)],
  ["Metadata 99", frame(3, 99, true)],
  ["Metadata cut short", frame(3, 13, true, "0100")],
  ["key 999", frame(999, 0, false)],
  ["key -1", frame(-1, 0, false)],
  ["key 5", frame(5, 0, false)],
  ["key 52", frame(52, 0, true)],
  ["length 0", "00000000"],
  ["length -1", "ffffffff"],
  ["length 200 MB", "0c0000000000"],
  ["length 3", "00000003001200"],
  ["HTTP", http],
  ["TLS", "16030100050100000101"],
];

export const frameCases: Case[] = [
  {
    name: "Frames that no client sends",
    run: (peer) =>
      inTurn(
        frames.map(([title, hex]) => async (): Promise<Value> => {
          const { answer, closed } = await peer.bytes(hex);
          return { title, answer, closed };
        }),
      ),
  },
  {
    name: "ApiVersions with what it must check",
    async run(peer) {
      const software = { clientSoftwareName: "a", clientSoftwareVersion: "1" };
      const answers = await asks(
        peer,
        ["ApiVersions", 3, { clientSoftwareName: "bad name!", clientSoftwareVersion: "1" }],
        ["ApiVersions", 3, { clientSoftwareName: "", clientSoftwareVersion: "1" }],
        ["ApiVersions", 3, { clientSoftwareName: "a", clientSoftwareVersion: "" }],
        ["ApiVersions", 3, { clientSoftwareName: "-a", clientSoftwareVersion: "1" }],
        ["ApiVersions", 3, { clientSoftwareName: "a.b-c", clientSoftwareVersion: "1.0-x" }],
        ["ApiVersions", 5, { ...software, clusterId: "other" }],
        ["ApiVersions", 5, { ...software, nodeId: 9 }],
        ["ApiVersions", 5, { ...software, nodeId: 1 }],
      );
      return answers.map((answer) => answer.errorCode);
    },
  },
];
