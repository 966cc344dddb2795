// Draws the charts that the page describes as data, and keeps them in step
// with the screen: width, colour scheme, paper. No figure is computed here.
(() => {
  "use strict";

  const charts = JSON.parse(document.getElementById("chart-data").textContent);
  const narrow = matchMedia("(max-width: 639px)");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "triangle-down", "cross", "star"];
  // The same marks, for the legend.
  const SHAPES = [
    "M5 0A5 5 0 1 1-5 0A5 5 0 1 1 5 0Z", "M-5-5H5V5H-5Z", "M0-6L6 0L0 6L-6 0Z", "M0-6L6 5H-6Z",
    "M-6-3L-3-6L0-3L3-6L6-3L3 0L6 3L3 6L0 3L-3 6L-6 3L-3 0Z", "M0 6L6-5H-6Z", "M-2-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z",
    "M0-6L1.6-2H6L2.4 .8L3.8 5.5L0 2.7L-3.8 5.5L-2.4 .8L-6-2H-1.6Z",
  ];
  const COLOURS = 8;
  // After eight series colours come again, each with the next mark.
  const markOf = (series) => (series + Math.floor(series / COLOURS)) % SYMBOLS.length;

  // Of the printed column, in CSS pixels: A4 and Letter less their margins.
  const PAPER_WIDTH = 640;

  const onPaper = () => document.documentElement.classList.contains("paper");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const place = (chart) => document.getElementById(`chart-${chart.id}`);

  // ---- what is drawn

  // Areas have more colours, one for each kind of work or layer.
  const nameOf = (trace) => (trace.area ? `--a${trace.series}` : `--s${trace.series % COLOURS}`);

  function traceOf(trace) {
    const colour = css(nameOf(trace));
    const common = {
      type: "scatter", name: trace.name, x: trace.x, y: trace.y, yaxis: trace.panel ? `y${trace.panel + 1}` : "y",
      showlegend: trace.legend, visible: !trace.hidden, hovertext: trace.hover, hoverinfo: "text",
    };
    if (trace.area) {
      return { ...common, mode: "lines", stackgroup: `panel${trace.panel}`, hoveron: "points", line: { color: css("--card"), width: 0.7 }, fillcolor: colour };
    }
    if (trace.model) {
      return { ...common, mode: "lines", connectgaps: false, hoverinfo: "skip", line: { color: colour, width: 1.6, dash: "dot" } };
    }
    return {
      ...common,
      mode: trace.joined ? "lines+markers" : "markers",
      line: { color: colour, width: 1.6 },
      marker: { color: colour, size: narrow.matches ? 6 : 7, symbol: SYMBOLS[markOf(trace.series)] },
      error_y: { type: "data", symmetric: false, array: trace.up, arrayminus: trace.down, color: colour, thickness: 1.4, width: 3 },
    };
  }

  // Measured points are joined by a line unless a model's line runs through them.
  function tracesOf(chart) {
    const modelled = new Set(chart.traces.filter((trace) => trace.model).map((trace) => `${trace.series}/${trace.panel}`));
    const residuals = chart.panels.map((panel) => panel.unit === "%" && !panel.joined);
    return chart.traces.map((trace) => traceOf({
      ...trace, hidden: chart.hidden.has(trace.series), joined: !modelled.has(`${trace.series}/${trace.panel}`) && !residuals[trace.panel],
    }));
  }

  // The legend is the page's own: it wraps, takes the keyboard, and needs no
  // room inside the drawing.
  function drawKey(chart) {
    const key = document.getElementById(`key-${chart.id}`);
    key.replaceChildren(...chart.traces.filter((trace) => trace.legend).map((trace) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.chart = chart.id;
      button.dataset.series = trace.series;
      button.setAttribute("aria-pressed", String(!chart.hidden.has(trace.series)));
      const mark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      mark.setAttribute("viewBox", "-8 -8 16 16");
      mark.setAttribute("aria-hidden", "true");
      const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
      shape.setAttribute("d", SHAPES[trace.area ? 1 : markOf(trace.series)]);
      shape.style.fill = `var(${nameOf(trace)})`;
      mark.append(shape);
      const name = document.createElement("span");
      name.textContent = plain(trace.name);
      button.append(mark, name);
      return button;
    }));
  }

  // Names come escaped for the drawing; the page takes text as text.
  const plain = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

  // ---- what it is drawn into

  function panelAxis(panel, domain) {
    const percent = panel.unit === "%";
    const axis = {
      title: { text: panel.title, standoff: 8, font: { size: 12 } }, domain, automargin: true, gridcolor: css("--grid"),
      linecolor: css("--rule"), tickfont: { size: 11 }, zeroline: percent, zerolinecolor: css("--faint"),
    };
    if (panel.log_ticks) {
      return { ...axis, type: "log", tickmode: "array", tickvals: panel.log_ticks.at, ticktext: panel.log_ticks.text };
    }
    return {
      ...axis, type: "linear", rangemode: panel.zero && !percent ? "tozero" : "normal", nticks: percent ? 5 : 7,
      tickformat: percent ? ".1~%" : "~s", ticksuffix: percent || !panel.unit ? "" : panel.unit,
    };
  }

  function sizeAxis(chart, last) {
    const ticks = chart.sizes.log ? chart.sizes.log_ticks : chart.sizes.linear_ticks;
    return {
      type: chart.sizes.log ? "log" : "linear", tickmode: "array", tickvals: ticks.at, ticktext: ticks.text,
      title: { text: chart.sizes.title ?? "message size, B", standoff: 8, font: { size: 12 } }, anchor: last, gridcolor: css("--grid"),
      linecolor: css("--rule"), zeroline: false, tickfont: { size: 11 }, tickangle: 0,
    };
  }

  function layoutOf(chart) {
    const last = chart.panels.length > 1 ? `y${chart.panels.length}` : "y";
    const gap = chart.panels.length > 1 ? 0.07 : 0;
    const layout = {
      height: chart.panels.length > 1 ? 520 : 400, width: onPaper() ? PAPER_WIDTH : undefined, autosize: !onPaper(),
      margin: { l: 52, r: 14, t: 8, b: 44 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: css("--sans"), size: 12, color: css("--ink") }, hovermode: "closest", dragmode: narrow.matches ? false : "zoom",
      showlegend: false,
      hoverlabel: { bgcolor: css("--hover"), bordercolor: css("--hover"), align: "left", font: { color: css("--hover-ink"), size: 13, family: css("--sans") } },
      xaxis: chart.sizes ? sizeAxis(chart, last) : { type: "category", anchor: last, gridcolor: css("--grid"), linecolor: css("--rule"), tickfont: { size: 12 } },
    };
    let top = 1;
    chart.panels.forEach((panel, index) => {
      const bottom = index === chart.panels.length - 1 ? 0 : top - panel.share + gap / 2;
      layout[index ? `yaxis${index + 1}` : "yaxis"] = panelAxis(panel, [bottom, top]);
      top = bottom - gap;
    });
    return layout;
  }

  function draw(chart) {
    chart.hidden ??= new Set();
    drawKey(chart);
    const config = { responsive: true, displayModeBar: false, scrollZoom: false, showTips: false };
    try {
      Plotly.react(place(chart), tracesOf(chart), layoutOf(chart), config);
    } catch (error) {
      place(chart).innerHTML = '<p class="broken">This chart could not be drawn; its figures are in the tables.</p>';
      console.error(error);
    }
  }

  const drawAll = () => charts.forEach(draw);

  // ---- what the reader does

  function switchAxis(button) {
    const chart = charts.find((candidate) => candidate.id === button.dataset.chart);
    chart.sizes.log = button.dataset.axis === "log";
    for (const other of button.parentElement.children) other.setAttribute("aria-pressed", String(other === button));
    draw(chart);
  }

  function switchSeries(button) {
    const chart = charts.find((candidate) => candidate.id === button.dataset.chart);
    const series = Number(button.dataset.series);
    if (!chart.hidden.delete(series)) chart.hidden.add(series);
    draw(chart);
    document.querySelector(`#key-${chart.id} [data-series="${series}"]`).focus();
  }

  // A picture stands alone: it takes title, legend and background along.
  function picture(id) {
    const plot = document.getElementById(`chart-${id}`);
    const title = document.querySelector(`#figure-${id} h3`).textContent;
    const layout = { ...plot.layout, title: { text: title, x: 0.02, xanchor: "left" }, showlegend: true, paper_bgcolor: css("--card"),
      margin: { ...plot.layout.margin, t: 56 }, legend: { orientation: "h", y: -0.14, yanchor: "top" } };
    Plotly.downloadImage({ data: plot.data, layout, config: {} }, { format: "png", scale: 2, filename: `nettoll-${id}`, width: 900, height: 580 });
  }

  function save(kind) {
    const held = JSON.parse(document.getElementById(kind === "csv" ? "csv" : "analysis").textContent);
    const text = kind === "csv" ? held : JSON.stringify(held, null, 2);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind === "csv" ? "text/csv" : "application/json" }));
    link.download = `nettoll.${kind}`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.axis) switchAxis(button);
    if (button?.dataset.series) switchSeries(button);
    if (button?.dataset.picture) picture(button.dataset.picture);
    if (button?.dataset.save) save(button.dataset.save);
  });

  // ---- what the screen does

  // Paper is drawn before the browser applies its print rules: by a class.
  let opened = [];
  function beforePrint() {
    document.documentElement.classList.add("paper");
    opened = [...document.querySelectorAll("#setup details:not([open])")];
    opened.forEach((details) => { details.open = true; });
    drawAll();
  }
  function afterPrint() {
    document.documentElement.classList.remove("paper");
    opened.forEach((details) => { details.open = false; });
    drawAll();
  }

  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
  addEventListener("beforeprint", beforePrint);
  addEventListener("afterprint", afterPrint);
  drawAll();
})();
