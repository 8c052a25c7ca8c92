// SPDX-License-Identifier: Apache-2.0
// Runs the test in a WebAssembly module, which must not import anything.
//   node run.mjs MODULE
import { readFileSync } from "node:fs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const imports = WebAssembly.Module.imports(module);
if (imports.length > 0) {
  console.error(`the module imports ${imports.map((one) => one.name).join(", ")}`);
  process.exit(1);
}
const { exports } = new WebAssembly.Instance(module, {});
const line = exports.hewn_test();
if (line !== 0) {
  console.error(`line ${line} fails`);
  process.exit(1);
}
// The host places data in the module's memory.
const address = exports.hewn_wasm_allocate(1000, 64);
new Uint8Array(exports.memory.buffer).fill(7, address, address + 1000);
exports.hewn_wasm_release(address);
if (address === 0 || address % 64 !== 0 || exports.hewn_wasm_allocate(1000, 64) !== address) {
  console.error("the allocator does not reuse memory");
  process.exit(1);
}
