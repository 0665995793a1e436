/**
 * Makes random values of every message and version, and prints them as "message version hex" for GoldenBytes.java.
 *
 *   bun tests/vectors/protocol/record-java.ts | java -cp 'JARS/*' tests/vectors/protocol/GoldenBytes.java > tests/vectors/protocol/java.txt
 *
 * With "older": values of each newest version, to be written in each older one (give GoldenBytes "older" too).
 */
import { Buffer } from "node:buffer";
import { servedApi } from "../../../src/protocol/apis.ts";
import { loadSchema, seeded, Twin } from "../../protocol/twin.ts";

const random = seeded(44);
if (process.argv[2] === "older") older();
else same();

function older(): void {
  for (const message of loadSchema()) {
    const twin = new Twin(message);
    const [least, newest] = message.versions;
    for (let version = least; version < newest; version++) {
      for (let round = 0; round < 3; round++) {
        // One value sets everything, one leaves most at the default, as the few fields of an old request do.
        const value = round === 0 ? twin.random(random, newest) : twin.sparse(random, newest);
        console.log(`${message.name} ${newest} ${version} ${Buffer.from(twin.write(value, newest)).toString("hex")}`);
      }
    }
  }
}

function same(): void {
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
}
