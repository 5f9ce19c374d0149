#!/usr/bin/env node
// Runs the program npm installed for this machine: one of the optional packages beside this one.
"use strict";

const { spawn } = require("node:child_process");
const { optionalDependencies } = require("../package.json");

const wanted = `-${process.platform}-${process.arch}`;
const name = Object.keys(optionalDependencies).find((name) => name.endsWith(wanted));

function program() {
  if (!name) throw new Error(`there is no build for ${process.platform} on ${process.arch}`);
  try {
    return require.resolve(`${name}/bin/twining`);
  } catch {
    throw new Error(`${name} is not installed; install again without --omit=optional`);
  }
}

try {
  const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
  // A client that ends us means the program.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`error: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else {
      process.exit(code);
    }
  });
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(1);
}
