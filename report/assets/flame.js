// Flame graphs: another size, the difference from one, a function as wide as the graph, functions by name.
// Without it the page shows the first size, by layer.
(() => {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const ROW = 17;
  const LEAST = 0.5; // Narrower bars are not drawn, in pixels.
  const ERRORS = 3; // A change is shown beyond so many standard errors.

  function element(parent, name, attributes = {}, text = "") {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    parent.append(made);
    return made;
  }

  const percent = (share) => `${(share * 100).toPrecision(share < 0.001 ? 1 : share < 0.1 ? 2 : 3)} %`;
  function time(ns) {
    const [unit, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([least]) => Math.abs(ns) >= 0.9995 * least) ?? [1, "ns"];
    return `${Number((ns / unit).toPrecision(3))} ${name}`;
  }

  // What samples of a column stand for: time, or instructions that were counted.
  const whole = (count) => count.toLocaleString("en");
  const amount = (graph, value) => graph.seeds ? `${whole(value)} instructions` : time(value);

  // ---- one graph

  function graphOf(svg) {
    const plot = svg.parentElement;
    const id = plot.id.slice("chart-".length);
    const held = JSON.parse(document.getElementById(`data-${id}`).textContent);
    const path = [];
    const bars = held.bars.map(([name, layer, depth, samples], place) => {
      path.length = depth;
      const caller = path.at(-1) ?? null;
      const bar = { name, layer, depth, samples, caller, place, end: place + 1, own: [...samples] };
      samples.forEach((count, column) => { if (caller) caller.own[column] -= count; });
      path.push(bar);
      return bar;
    });
    // What a function called follows it, up to its end.
    [...bars].reverse().forEach((bar) => { if (bar.caller) bar.caller.end = Math.max(bar.caller.end, bar.end); });
    const figure = plot.closest("figure");
    const [choice, rival] = held.first;
    return { ...held, bars, svg, plot, figure, choice, rival, target: bars[0], word: "" };
  }

  const columnOf = (graph) => graph.choices[graph.choice].column;
  // The column that is compared with; none with itself.
  function rivalOf(graph) {
    const rival = graph.rival === null ? undefined : graph.choices[graph.choice].rivals[graph.rival];
    return rival === columnOf(graph) ? undefined : rival;
  }

  // The least and the most that the seeds of a column's side count.
  function range(graph, bar, column) {
    const from = column - column % graph.seeds;
    const side = bar.samples.slice(from, from + graph.seeds);
    return [Math.min(...side), Math.max(...side)];
  }

  function apart(graph, bar, column, rival) {
    const [[a, b], [c, d]] = [range(graph, bar, column), range(graph, bar, rival)];
    return b < c || d < a;
  }

  // Costs of a function in both columns, and whether they are apart by more than counted samples and
  // trials, or seeds, differ of themselves.
  function change(graph, bar, column, rival) {
    const [now, then] = [column, rival].map((place) => {
      const { ns, error } = graph.columns[place];
      const count = bar.samples[place];
      return { ns: count * ns, variance: ns * ns * (count + (count * error) ** 2) };
    });
    const shown = graph.seeds ? apart(graph, bar, column, rival) : Math.abs(now.ns - then.ns) > ERRORS * Math.sqrt(now.variance + then.variance);
    const ratio = now.ns / then.ns;
    const steps = [3, 1.5, 1].findIndex((step) => (ratio > 1 ? ratio : 1 / ratio) > step);
    return { now: now.ns, then: then.ns, ratio, name: shown ? `${ratio > 1 ? "more" : "less"}${3 - steps}` : "same" };
  }

  // ---- the drawing

  function draw(graph) {
    const { svg, bars, figure } = graph;
    const [column, rival] = [columnOf(graph), rivalOf(graph)];
    while (graph.target.caller && !graph.target.samples[column]) graph.target = graph.target.caller;
    const { target } = graph;
    const width = Math.max(200, graph.plot.clientWidth || 1100);
    const letter = graph.letter ??= letterOf(svg);
    const callers = new Set();
    for (let bar = target.caller; bar; bar = bar.caller) callers.add(bar);

    const drawn = [];
    const scale = width / (target.samples[column] || 1);
    const ends = new Map();
    for (const bar of bars) {
      const inside = bar.place >= target.place && bar.place < target.end;
      if (!inside && !callers.has(bar)) continue;
      const wide = inside ? bar.samples[column] * scale : width;
      const x = inside && bar !== target ? ends.get(bar.caller) : 0;
      if (inside && bar !== target) ends.set(bar.caller, x + wide);
      ends.set(bar, x);
      if (wide >= LEAST) drawn.push({ bar, x, wide });
    }
    // All sizes have the same height, so that what stands below keeps its place.
    const depth = target.caller ? Math.max(...drawn.map(({ bar }) => bar.depth)) : graph.depth ??= deepest(graph, width);
    svg.replaceChildren();
    svg.classList.add("drawn");
    for (let row = depth; row >= 0; row -= 1) {
      const group = element(svg, "g", { "data-series": row });
      for (const { bar, x, wide } of drawn.filter((one) => one.bar.depth === row)) {
        const colour = rival !== undefined ? change(graph, bar, column, rival).name : bar.depth ? `a${bar.layer}` : "whole";
        const mark = element(group, "g", { class: `mark part ${colour}`, "data-place": bar.place });
        mark.dataset.tip = words(graph, bar, column, rival);
        mark.classList.toggle("caller", callers.has(bar));
        mark.classList.toggle("faded", graph.word !== "" && !hit(graph, bar));
        const y = (depth - row) * ROW;
        element(mark, "rect", { x: x.toFixed(2), y, width: wide.toFixed(2), height: ROW - 1 });
        const room = Math.floor((wide - 6) / letter);
        const text = bar.name.length <= room ? bar.name : room >= 4 ? `${bar.name.slice(0, room - 1)}…` : "";
        if (text) element(mark, "text", { x: (x + 3).toFixed(1), y: y + 12 }, text);
      }
    }
    const height = (depth + 1) * ROW;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const subject = rival === undefined ? graph.columns[column].name : `${graph.columns[column].name}, difference from ${graph.columns[rival].name}`;
    svg.setAttribute("aria-label", `${graph.title}, ${subject}`);
    figure.querySelector(".layers").hidden = rival !== undefined;
    figure.querySelector(".changes").hidden = rival === undefined;
    heading(graph, subject, width, height);
    figure.querySelector("output").textContent = seen(graph, column, rival);
  }

  function letterOf(svg) {
    const probe = element(svg, "text", {}, "0".repeat(20));
    const letter = probe.getComputedTextLength() / 20;
    probe.remove();
    return letter || 7.3;
  }

  // The highest bar that can be seen in any column.
  function deepest({ bars, columns }, width) {
    const seen = bars.filter((bar) => columns.some((_, column) => bar.samples[column] * width >= 2 * bars[0].samples[column] && bar.samples[column]));
    return Math.max(0, ...seen.map((bar) => bar.depth));
  }

  // Title and legend, which only a saved picture shows.
  function heading({ svg, title, figure }, subject, width, height) {
    const group = element(svg, "g", { class: "alone" });
    let [x, y] = [4, 0];
    const entries = [...figure.querySelectorAll(".key > :not([hidden]) > .entry")].map((entry) => {
      const wide = 28 + entry.textContent.length * 7;
      if (x > 4 && x + wide > width) [x, y] = [4, y + 20];
      const at = [x, y];
      x += wide;
      return [entry, at];
    });
    const above = y + 58;
    element(group, "text", { class: "heading", x: 4, y: 20 - above }, `${title}, ${subject}`);
    for (const [entry, at] of entries) {
      const colour = [...entry.querySelector("rect").classList].at(-1);
      element(group, "rect", { class: colour, x: at[0], y: at[1] + 32 - above, width: 12, height: 12 });
      element(group, "text", { x: at[0] + 18, y: at[1] + 42 - above }, entry.textContent);
    }
    svg.dataset.alone = `0 ${-above} ${width} ${height + above}`;
  }

  // ---- in words

  function words(graph, bar, column, rival) {
    const cost = (place) => `${amount(graph, bar.samples[place] * graph.columns[place].ns)} per message, ${percent(bar.samples[place] / (graph.bars[0].samples[place] || 1))}`;
    const lines = [bar.name, cost(column)];
    if (rival !== undefined) {
      const { now, then, ratio, name } = change(graph, bar, column, rival);
      const by = then > 0 ? `${now < then ? "−" : "+"}${amount(graph, Math.abs(now - then))}, ${ratio.toPrecision(3)} times as much` : "new";
      lines.push(`${graph.columns[rival].name}: ${then > 0 ? cost(rival) : graph.seeds ? "not called" : "no sample"}`, name === "same" ? "no change shown" : by);
    }
    const own = bar.own[column] / (bar.samples[column] || 1);
    const layer = bar.depth === 0 ? "" : `${graph.layers[bar.layer]} · `;
    lines.push(`${layer}${whole(bar.samples[column])} ${graph.seeds ? "instructions" : "samples"}${own < 0.9995 ? `, ${percent(own)} of them in itself` : ""}`);
    return lines.join("\n");
  }

  const hit = ({ word }, bar) => bar.name.toLowerCase().includes(word);

  // The line above the graph: what was found, else what is zoomed to, else the whole.
  function seen(graph, column, rival) {
    const all = graph.bars[0].samples[column] || 1;
    const { ns } = graph.columns[column];
    if (graph.word) {
      // A function found within another one is the other's time already.
      let [found, count, end] = [0, 0, 0];
      for (const bar of graph.bars) {
        if (bar.depth === 0 || !bar.samples[column] || !hit(graph, bar)) continue;
        count += 1;
        if (bar.place < end) continue;
        [found, end] = [found + bar.samples[column], bar.end];
      }
      return count ? `${percent(found / all)}, ${amount(graph, found * ns)} per message in ${count} ${count === 1 ? "place" : "places"}` : "not found";
    }
    const { target } = graph;
    if (target.caller) return `${target.name}: ${percent(target.samples[column] / all)}; Escape shows all`;
    const text = `${amount(graph, all * ns)} per message${graph.seeds ? "" : `, ${whole(all)} samples`}`;
    if (rival === undefined) return text;
    const { then, ratio } = change(graph, graph.bars[0], column, rival);
    return `${text}; ${graph.columns[rival].name}: ${amount(graph, then)}, now ${ratio.toPrecision(3)} times as much`;
  }

  // ---- what a reader does

  const graphs = [...document.querySelectorAll("svg.flame")].map(graphOf);
  const graphIn = (place) => graphs.find(({ figure }) => figure.contains(place));

  function zoom(graph, mark) {
    const bar = graph.bars[Number(mark?.dataset.place ?? 0)];
    // What is wide already leads out again.
    graph.target = bar === graph.target ? bar.caller ?? bar : bar;
    draw(graph);
  }

  document.addEventListener("click", (event) => {
    const graph = graphIn(event.target);
    if (!graph) return;
    const [mark, button] = [event.target.closest(".mark[data-place]"), event.target.closest("button[data-axis]")];
    if (mark) zoom(graph, mark);
    if (button) {
      graph.choice = Number(button.dataset.axis);
      draw(graph);
    }
  });

  document.addEventListener("keydown", (event) => {
    const graph = event.target.closest?.(".plot, .flame-tools") && graphIn(event.target);
    const mark = graph?.svg.querySelector(".now");
    if (graph && event.key === "Escape") zoom(graph, null);
    if (mark && event.key === "Enter") zoom(graph, mark);
  });

  document.addEventListener("input", ({ target }) => {
    const graph = target.dataset?.flame && graphIn(target);
    if (!graph) return;
    if (target.matches("select")) graph.rival = target.value === "" ? null : Number(target.value);
    else graph.word = target.value.trim().toLowerCase();
    draw(graph);
  });

  const watch = new ResizeObserver((changes) => changes.forEach(({ target }) => {
    const graph = graphIn(target);
    if (graph.width === target.clientWidth) return;
    [graph.width, graph.depth] = [target.clientWidth, undefined];
    draw(graph);
  }));
  for (const graph of graphs) {
    const select = graph.figure.querySelector("select");
    if (select) select.value = graph.rival ?? "";
    watch.observe(graph.plot);
  }
})();
