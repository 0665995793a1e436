/**
 * Makes random values of every message and version, and prints them as "message version hex" for GoldenBytes.java.
 *
 *   bun tests/vectors/protocol/record-java.ts | java -cp 'JARS/*' tests/vectors/protocol/GoldenBytes.java > tests/vectors/protocol/java.txt
 */
import { Buffer } from "node:buffer";
import { servedApi } from "../../../src/protocol/apis.ts";
import { loadSchema, seeded, Twin } from "../../protocol/twin.ts";

const random = seeded(44);
for (const message of loadSchema()) {
  const twin = new Twin(message);
  const rounds = message.apiKey !== undefined && servedApi(message.apiKey) ? 3 : 1;
  for (let version = message.versions[0]; version <= message.versions[1]; version++) {
    for (let round = 0; round < rounds; round++) {
      const bytes = twin.write(twin.random(random, version), version);
      console.log(`${message.name} ${version} ${Buffer.from(bytes).toString("hex")}`);
    }
  }
}
