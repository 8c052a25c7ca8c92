// SPDX-License-Identifier: Apache-2.0
// Runs a WebAssembly module that hewn compiled, with float32 or integer inputs of fixed sizes.
//   node run.mjs model.wasm SECONDS OUTPUTS INPUT...
// INPUT are files with the elements of each input. The elements of all outputs are written to
// OUTPUTS. Prints the time of the fastest run in milliseconds.
import fs from 'node:fs';

const [file, seconds, result, ...inputFiles] = process.argv.slice(2);
const module = new WebAssembly.Module(fs.readFileSync(file));
const description = JSON.parse(new TextDecoder().decode(WebAssembly.Module.customSections(module, 'hewn')[0]));
const exports = new WebAssembly.Instance(module, {}).exports;
const bytes = () => new Uint8Array(exports.memory.buffer); // made anew, since memory may have grown
const words = () => new DataView(exports.memory.buffer);

function allocate(size) {
  const address = exports.hewn_wasm_allocate(Math.max(size, 1), 64);
  if (!address) throw new Error(`no memory for ${size} bytes`);
  return address;
}

function place(content) {
  const address = allocate(content.length);
  bytes().set(content, address);
  return address;
}

/// Calls a function that returns a hewn_status, whose address is the first argument.
const status = allocate(8);
function call(run, ...args) {
  run(status, ...args);
  if (words().getInt32(status, true) === 0) return;
  const start = words().getUint32(status + 4, true);
  throw new Error(new TextDecoder().decode(bytes().slice(start, bytes().indexOf(0, start))));
}

// hewn_context_options of runtime.h, with 32-bit pointers
const OPTIONS = { size: 120, weights: 100, weightsBytes: 104 };
const options = place(new Uint8Array(OPTIONS.size));
words().setUint32(options, OPTIONS.size, true);
if (description.weights?.file) {
  const weights = fs.readFileSync(file.replace(/[^/]*$/, description.weights.file));
  const address = place(weights);
  words().setUint32(options + OPTIONS.weights, address, true);
  words().setUint32(options + OPTIONS.weightsBytes, weights.length, true);
}
const model = exports[description.name].value, place4 = allocate(4);
call(exports.hewn_context_create, model, options, place4);
const context = words().getUint32(place4, true);

const ELEMENT_BYTES = { float32: 4, int32: 4, int64: 8, int8: 1, uint8: 1, bool: 1 };
const inputs = inputFiles.map((path) => place(fs.readFileSync(path)));
const outputs = description.outputs.map(({ shape, type }) => {
  const size = shape.reduce((count, dim) => count * dim, 1) * ELEMENT_BYTES[type];
  return { address: allocate(size), size };
});
const run = () => call(exports[`${description.name}_run`], context, ...inputs, ...outputs.map(({ address }) => address));
run();
let fastest = Infinity;
const end = performance.now() + 1000 * Number(seconds);
do {
  const begin = performance.now();
  run();
  fastest = Math.min(fastest, performance.now() - begin);
} while (performance.now() < end);
fs.writeFileSync(result, Buffer.concat(outputs.map(({ address, size }) => bytes().slice(address, address + size))));
console.log(fastest);
