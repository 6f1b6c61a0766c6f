"use strict";
// The run: its columns, the figures that read them, and which solvers are shown.
const run = JSON.parse(document.getElementById("run").textContent);
const special = { inf: Infinity, "-inf": -Infinity };
const value = (x) => (typeof x === "string" && x in special ? special[x] : x);
const frame = {};
for (const [name, column] of Object.entries(run.frame)) {
  frame[name] = column.codes ? column.codes.map((code) => column.levels[code]) : column.values.map(value);
}
const shown = new Set(run.solvers);

function records(data) {
  if (data.rows) return data.rows.map((i) => Object.fromEntries(data.columns.map((name) => [name, frame[name][i]])));
  return data.records.map((record) => Object.fromEntries(data.columns.map((name, i) => [name, value(record[i])])));
}

for (const figure of run.figures) {
  figure.all = Object.fromEntries(Object.entries(figure.data).map(([name, data]) => [name, records(data)]));
}

// What a figure shows now, by the name of its data, and the caption that goes with it.
function current(figure) {
  const now = {};
  for (const [name, all] of Object.entries(figure.all)) {
    now[name] = figure.data[name].columns.includes("solver") ? all.filter((record) => shown.has(record.solver)) : all;
  }
  figure.said = figure.caption;
  if (figure.profile) {
    const performance = profile(now.rows, figure.profile);
    now[figure.shown] = performance.curves;
    figure.said = `${figure.parts[0]}${performance.solvers}${figure.parts[1]}${performance.tasks}${figure.parts[2]}`;
  }
  return now;
}

// The solvers whose curves a figure has and that are shown, in the order of its legend.
function legend(figure) {
  const parameter = figure.spec.params.find((one) => one.name === "shown");
  return parameter.value.filter((name) => shown.has(name));
}
