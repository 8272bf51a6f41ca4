// SPDX-License-Identifier: Apache-2.0
// Runs in Node: reads a request from standard input, runs a graph model, writes its answer.
//   request: {"model": folder, "inputs": {name: {"dtype", "shape", "data"}}, "repeat": how often}
//   answer:  {"outputs": {name: {"shape", "data"}}, "milliseconds": [...], "version": "4.22.0"}
const fs = require('fs');
const path = require('path');
const tf = require('@tensorflow/tfjs');

function handler(folder) {
  const json = JSON.parse(fs.readFileSync(path.join(folder, 'model.json'), 'utf8'));
  const files = json.weightsManifest.flatMap((group) => group.paths);
  const weights = Buffer.concat(files.map((name) => fs.readFileSync(path.join(folder, name))));
  return {
    load: async () => ({
      modelTopology: json.modelTopology,
      signature: json.signature,
      weightSpecs: json.weightsManifest.flatMap((group) => group.weights),
      weightData: weights.buffer.slice(weights.byteOffset, weights.byteOffset + weights.length),
    }),
  };
}

async function main() {
  const request = JSON.parse(fs.readFileSync(0, 'utf8'));
  await tf.setBackend('cpu');
  const model = await tf.loadGraphModel(handler(request.model));
  const { inputs, outputs } = model.modelSignature;
  const fed = {};
  for (const [name, { dtype, shape, data }] of Object.entries(request.inputs)) {
    const input = inputs[name] || inputs[`${name}:0`];
    if (input) fed[input.name] = tf.tensor(data, shape, dtype);
  }
  const names = Object.keys(outputs);
  const milliseconds = [];
  let found;
  for (let count = 0; count < request.repeat; count += 1) {
    const start = performance.now();
    found = await model.executeAsync(fed, names.map((name) => outputs[name].name));
    found = Array.isArray(found) ? found : [found];
    for (const tensor of found) tensor.dataSync();
    milliseconds.push(performance.now() - start);
  }
  const answer = { outputs: {}, milliseconds, version: tf.version.tfjs };
  names.forEach((name, index) => {
    answer.outputs[name] = { shape: found[index].shape, data: Array.from(found[index].dataSync()) };
  });
  fs.writeSync(1, JSON.stringify(answer));
}

main().catch((error) => {
  fs.writeSync(2, String(error && error.message));
  process.exit(1);
});
