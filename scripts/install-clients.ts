/**
 * Brings the Kafka clients that tests/clients, tests/tools and tests/suites drive onto this machine: Python packages into a virtual
 * environment, Apache Kafka's own jars, a small Go and a small Java program built from tests/clients, and kcat from Debian.
 *
 * Invariant: everything lands in one cache folder (`$XDG_CACHE_HOME/rowlog-clients`, by default `~/.cache/rowlog-clients`), in a
 * folder whose name holds the versions and a hash of the sources, made under another name and renamed when whole. So a present
 * folder is a complete one, and a changed version or source never meets a stale build. Only kcat is installed system-wide.
 *
 * Run alone: `bun scripts/install-clients.ts [COMPONENT...]` installs what is missing and prints what could not be had.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const projectDirectory = dirname(dirname(fileURLToPath(import.meta.url)));
const clientsDirectory = join(projectDirectory, "tests/clients");

/** Versions that the recorded results of tests/vectors/clients hold for. Go's are in tests/clients/go/go.mod, npm's in package.json. */
export const versions = { kafka: "4.4.0", slf4j: "1.7.36", confluentKafka: "2.16.1", kafkaPython: "3.0.12" } as const;

/** Debezium's PostgreSQL connector, and the Kafka Connect that it runs in: on one of Kafka 4.4.0 its tasks fail at start. */
export const debeziumVersions = { debezium: "3.6.1.Final", connect: "4.3.1", log4j: "2.25.5" } as const;

/** Something that has to be on the machine before a client can run. */
export interface Component {
  readonly name: string;
  /** What must be installed by the user for `install` to work, in words. */
  readonly needs: string;
  installed(): boolean;
  /** Installs; throws an Error that says what went wrong. */
  install(): void;
}

export function cacheDirectory(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "rowlog-clients");
}

/** The first file of that name on PATH, or undefined. */
export function findProgram(name: string): string | undefined {
  for (const directory of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(directory, name);
    if (directory !== "" && existsSync(path)) return path;
  }
  return undefined;
}

/** Runs a program to its end; throws with the tail of its output when it fails. */
function run(
  program: string,
  parameters: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): void {
  const result = spawnSync(program, parameters, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    timeout: 15 * 60_000,
  });
  if (result.error) throw new Error(`${program}: ${result.error.message}`);
  if (result.status !== 0) {
    const output = `${result.stdout}${result.stderr}`.trim().split("\n").slice(-12).join("\n");
    throw new Error(`${program} ${parameters.join(" ")} ended with ${result.status ?? result.signal}:\n${output}`);
  }
}

/** Makes `directory` with `fill`, whole or not at all. */
function makeWhole(directory: string, fill: (directory: string) => void): void {
  const temporary = `${directory}.${process.pid}.tmp`;
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary, { recursive: true });
  try {
    fill(temporary);
    rmSync(directory, { recursive: true, force: true });
    renameSync(temporary, directory);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function sourceHash(paths: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of paths) hash.update(readFileSync(path)).update("\0");
  return hash.digest("hex").slice(0, 12);
}

function filesOf(directory: string, endings: readonly string[]): string[] {
  const names = readdirSync(directory).sort();
  return names.filter((name) => endings.some((ending) => name.endsWith(ending))).map((name) => join(directory, name));
}

const pythonDirectory = join(
  cacheDirectory(),
  `python-confluent-kafka-${versions.confluentKafka}-kafka-python-${versions.kafkaPython}`,
);

/** The Python interpreter that has confluent-kafka and kafka-python. */
export function pythonProgram(): string {
  return join(pythonDirectory, "bin/python");
}

/** Codecs that kafka-python takes from other packages, and crc32c in C instead of its slow own. */
const pythonExtras = ["crc32c==2.9.post0", "lz4==4.4.5", "python-snappy==0.7.3", "zstandard==0.25.0"];

const python: Component = {
  name: "python",
  needs: "python3 with its venv module, and a package index",
  installed: () => existsSync(join(pythonDirectory, ".complete")),
  // Not by makeWhole: a virtual environment holds its own path. The last file says that it is whole.
  install() {
    rmSync(pythonDirectory, { recursive: true, force: true });
    mkdirSync(dirname(pythonDirectory), { recursive: true });
    run("python3", ["-m", "venv", pythonDirectory]);
    const wanted = [`confluent-kafka==${versions.confluentKafka}`, `kafka-python==${versions.kafkaPython}`];
    run(pythonProgram(), [
      "-m",
      "pip",
      "install",
      "--quiet",
      "--disable-pip-version-check",
      ...wanted,
      ...pythonExtras,
    ]);
    writeFileSync(join(pythonDirectory, ".complete"), "");
  },
};

const jarsDirectory = join(cacheDirectory(), `kafka-${versions.kafka}`);

/** Class path of Apache Kafka's broker, tools and Java client. */
export function kafkaClassPath(): string {
  return join(jarsDirectory, "libs/*");
}

type Artifact = readonly [group: string, name: string, version: string];

const kafkaArtifacts: readonly Artifact[] = [
  ["org.apache.kafka", "kafka_2.13", versions.kafka],
  ["org.apache.kafka", "kafka-tools", versions.kafka],
  ["org.slf4j", "slf4j-nop", versions.slf4j],
];

function pom(artifacts: readonly Artifact[]): string {
  const dependencies = artifacts.map(
    ([group, name, version]) =>
      `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`,
  );
  return `<project><modelVersion>4.0.0</modelVersion>
<groupId>rowlog.tests</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>${dependencies.join("\n")}</dependencies></project>
`;
}

const jars: Component = {
  name: "jars",
  needs: "Maven (mvn) and Java 17 or later",
  installed: () => existsSync(join(jarsDirectory, "libs")),
  install() {
    makeWhole(jarsDirectory, (directory) => copyJars(directory, "libs", kafkaArtifacts));
  },
};

/** Copies the artifacts and what they need into `directory`/`folder`, without the groups that are there already. */
function copyJars(directory: string, folder: string, artifacts: readonly Artifact[], without: readonly string[] = []) {
  const file = join(directory, `pom-${basename(folder)}.xml`);
  writeFileSync(file, pom(artifacts));
  const goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";
  const target = [`-DoutputDirectory=${join(directory, folder)}`, "-DincludeScope=runtime"];
  run("mvn", ["-q", "-B", "-f", file, goal, ...target, `-DexcludeGroupIds=${without.join()}`]);
}

const debeziumDirectory = join(
  cacheDirectory(),
  `debezium-${debeziumVersions.debezium}-connect-${debeziumVersions.connect}`,
);

/** Class path of a Kafka Connect worker, and the folder with Debezium's connector as its plugin. */
export function debeziumFiles(): { worker: string; plugins: string } {
  return { worker: join(debeziumDirectory, "libs/*"), plugins: join(debeziumDirectory, "plugins") };
}

const debezium: Component = {
  name: "debezium",
  needs: "Maven (mvn) and Java 17 or later",
  installed: () => existsSync(join(debeziumDirectory, "plugins")),
  install() {
    const { connect, log4j, debezium: version } = debeziumVersions;
    const worker: Artifact[] = [
      ["org.apache.kafka", "connect-runtime", connect],
      ["org.apache.kafka", "connect-json", connect],
      ["org.apache.logging.log4j", "log4j-core", log4j],
      ["org.apache.logging.log4j", "log4j-slf4j-impl", log4j],
    ];
    const plugin: Artifact[] = [["io.debezium", "debezium-connector-postgres", version]];
    // A plugin has a class loader of its own; what the worker gives it must not lie in its folder a second time.
    const shared = [
      "org.apache.kafka",
      "org.slf4j",
      "jakarta.ws.rs",
      "at.yawk.lz4",
      "org.lz4",
      "org.xerial.snappy",
      "com.github.luben",
    ];
    makeWhole(debeziumDirectory, (directory) => {
      copyJars(directory, "libs", worker);
      copyJars(directory, "plugins/debezium-connector-postgres", plugin, shared);
    });
  },
};

/** The folder of PostgreSQL's server programs: of PATH, else the newest of Debian's. */
export function postgresPrograms(): string | undefined {
  const onPath = findProgram("initdb");
  if (onPath !== undefined) return dirname(realpathSync(onPath));
  const debian = "/usr/lib/postgresql";
  if (!existsSync(debian)) return undefined;
  const newest = readdirSync(debian).sort((a, b) => Number(b) - Number(a));
  return newest.map((version) => join(debian, version, "bin")).find((path) => existsSync(join(path, "initdb")));
}

const postgres: Component = {
  name: "postgres",
  needs: "PostgreSQL's server programs (Debian's package postgresql, installed by itself only for root)",
  installed: () => postgresPrograms() !== undefined,
  install: () => installDebian("postgresql"),
};

/** Folder of the classes compiled from all Java sources of `sourceDirectory`. */
export function javaClasses(sourceDirectory: string): string {
  return join(cacheDirectory(), `java-${versions.kafka}-${sourceHash(filesOf(sourceDirectory, [".java"]))}`);
}

function javaComponent(name: string, sourceDirectory: string): Component {
  return {
    name,
    needs: "a Java compiler (javac), and Kafka's jars",
    installed: () => existsSync(javaClasses(sourceDirectory)),
    install() {
      if (!jars.installed()) jars.install();
      makeWhole(javaClasses(sourceDirectory), (directory) => {
        run("javac", ["-nowarn", "-cp", kafkaClassPath(), "-d", directory, ...filesOf(sourceDirectory, [".java"])]);
      });
    },
  };
}

export const javaDriverDirectory = join(clientsDirectory, "java");
export const javaToolsDirectory = join(projectDirectory, "tests/tools/java");

const goSource = join(clientsDirectory, "go");

/** The Go program that drives Sarama and franz-go. */
export function goProgram(): string {
  return join(cacheDirectory(), `go-${sourceHash(filesOf(goSource, [".go", ".mod", ".sum"]))}`, "driver");
}

const go: Component = {
  name: "go",
  needs: "Go 1.24 or later, and its module proxy",
  installed: () => existsSync(goProgram()),
  install() {
    makeWhole(dirname(goProgram()), (directory) => {
      run("go", ["build", "-mod=readonly", "-o", join(directory, "driver"), "."], { cwd: goSource });
    });
  },
};

const kcat: Component = {
  name: "kcat",
  needs: "Debian's package kcat (installed by itself only for root)",
  installed: () => findProgram("kcat") !== undefined,
  install: () => installDebian("kcat"),
};

function installDebian(name: string): void {
  if (findProgram("apt-get") === undefined || process.getuid?.() !== 0)
    throw new Error("only root may install it with apt-get");
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const install = () => run("apt-get", ["install", "-y", "-q", "--no-install-recommends", name], { env });
  try {
    install();
  } catch {
    run("apt-get", ["update", "-q"], { env });
    install();
  }
}

const suiteDirectory = join(cacheDirectory(), `suite-kafka-python-${versions.kafkaPython}`);

/** The folder with kafka-python's sources, tests included, and the Python that has what those import. */
export function kafkaPythonSuite(): { sources: string; python: string } {
  return { sources: join(suiteDirectory, "sources"), python: join(suiteDirectory, "venv/bin/python") };
}

/** What kafka-python's own tests import, besides itself. */
const suitePackages = ["pytest==9.2.0", "pytest-mock==3.17.0", "pytest-timeout==2.4.0", "py==1.11.0"];

const suites: Component = {
  name: "suites",
  needs: "python3 with its venv module, and a package index that has sources",
  installed: () => existsSync(join(suiteDirectory, ".complete")),
  install() {
    const { sources, python: program } = kafkaPythonSuite();
    rmSync(suiteDirectory, { recursive: true, force: true });
    mkdirSync(sources, { recursive: true });
    run("python3", ["-m", "venv", join(suiteDirectory, "venv")]);
    const pip = [program, "-m", "pip", "--quiet", "--disable-pip-version-check"] as const;
    const wanted = `kafka-python==${versions.kafkaPython}`;
    run(pip[0], [
      ...pip.slice(1),
      "download",
      "--no-deps",
      "--no-binary",
      "kafka-python",
      "-d",
      suiteDirectory,
      wanted,
    ]);
    const archive = filesOf(suiteDirectory, [".tar.gz"])[0];
    if (archive === undefined) throw new Error(`there is no source archive of ${wanted}`);
    run("tar", ["xzf", archive, "-C", sources, "--strip-components=1"]);
    run(pip[0], [...pip.slice(1), "install", archive, ...suitePackages, ...pythonExtras]);
    // Two modules that its tests import are not in the archive: a package mark, and the class that would start a broker of its own.
    writeFileSync(join(sources, "test/__init__.py"), "");
    writeFileSync(join(sources, "test/service.py"), externalServiceModule);
    // One test gives new replicas to broker 0; the node's id is 1.
    const admin = join(sources, "test/integration/test_admin_integration.py");
    writeFileSync(admin, readFileSync(admin, "utf8").replace("[[0], [0]]", "[[1], [1]]"));
    writeFileSync(join(suiteDirectory, ".complete"), "");
  },
};

const externalServiceModule = `"""Stands in for a module of the repository: these tests run against a broker that is there already."""


class ExternalService:
    def __init__(self, *place):
        pass

    def open(self):
        pass

    def stop(self):
        pass


SpawnedService = None
`;

const java = javaComponent("java", javaDriverDirectory);
const tools = javaComponent("tools", javaToolsDirectory);

/** In the order in which they are installed: Java's programs need the jars. */
export const components: readonly Component[] = [python, jars, java, tools, go, kcat, suites, debezium, postgres];

export function component(name: string): Component {
  const found = components.find((candidate) => candidate.name === name);
  if (found === undefined)
    throw new Error(`no component ${name}; there are ${components.map((c) => c.name).join(", ")}`);
  return found;
}

/** Installs what is missing of `names`; answers why each of the rest could not be. */
export function installMissing(names: readonly string[], say: (line: string) => void): Map<string, string> {
  const failures = new Map<string, string>();
  for (const { name, needs, installed, install } of components.filter((candidate) => names.includes(candidate.name))) {
    if (installed()) continue;
    const started = Date.now();
    try {
      say(`installing ${name}`);
      install();
      say(`installed ${name} in ${((Date.now() - started) / 1000).toFixed(1)} s`);
    } catch (error) {
      failures.set(name, `${error instanceof Error ? error.message : error}\n(${name} needs ${needs})`);
    }
  }
  return failures;
}

if (import.meta.main) {
  const names = process.argv.slice(2);
  for (const name of names) component(name);
  const failures = installMissing(names.length > 0 ? names : components.map((c) => c.name), (line) =>
    console.error(line),
  );
  for (const [name, why] of failures) console.error(`could not install ${name}: ${why}`);
  process.exit(failures.size > 0 ? 1 : 0);
}
