// The interactive figure of heads.html: attention with three keys, in the browser.
"use strict";
(() => {
  const figure = document.getElementById("fig:heads");
  const form = figure.querySelector("form");
  const scale = document.getElementById("heads-s");
  const length = document.getElementById("heads-length");
  const two = document.getElementById("heads-two");
  const names = ["a", "b", "other"];
  const places = [[50, 190], [250, 190], [150, 40]]; // of the values, as heads.html draws them
  let announcing;

  // A choice of -1, 0 or 1 for each mean; returns the three elements.
  function choices(fieldset, head) {
    return names.map((name) => {
      const label = document.createElement("label");
      const select = document.createElement("select");
      select.setAttribute("aria-label", `Head ${head}: multiple of the mean of key ${name}`);
      for (const value of ["-1", "0", "1"]) {
        select.add(new Option(value.replace("-", "\u2212"), value, false, value === "0"));
      }
      label.append(select, ` \u00b7 mean of ${name === "other" ? "the other" : name}`);
      fieldset.append(label);
      return select;
    });
  }

  const queries = [...form.querySelectorAll("fieldset")].map((f, i) => choices(f, i + 1));

  // softmax of the scores k_i . q, less their maximum so that exp can't overflow
  function weights(query) {
    const lengths = [Number(length.value), 1, 1];
    const scores = lengths.map((l, i) => Number(scale.value) * Number(query[i].value) * l);
    const powers = scores.map((score) => Math.exp(score - Math.max(...scores)));
    const sum = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / sum);
  }

  function move(name, alpha) {
    const circle = figure.querySelector(`circle.${name}`);
    [0, 1].forEach((axis) => {
      const place = alpha.reduce((sum, weight, i) => sum + weight * places[i][axis], 0);
      circle.setAttribute(axis ? "cy" : "cx", place.toFixed(2));
    });
  }

  function update() {
    const heads = queries.map(weights);
    const mean = heads[0].map((weight, i) => (two.checked ? (weight + heads[1][i]) / 2 : weight));
    scale.previousElementSibling.value = scale.value;
    length.previousElementSibling.value = Number(length.value).toFixed(2);
    for (const element of figure.querySelectorAll("[data-two]")) element.hidden = !two.checked;
    for (const name of ["first", "second"]) {
      figure.querySelector(`circle.${name}`).toggleAttribute("hidden", !two.checked);
    }
    move("first", heads[0]);
    move("second", heads[1]);
    move("output", mean);
    figure.querySelectorAll("tbody tr").forEach((row, i) => {
      [heads[0], heads[1], mean].forEach((alpha, column) => {
        row.cells[column + 1].textContent = alpha[i].toFixed(3);
      });
    });
    const said = names.map((name, i) => `${name} ${mean[i].toFixed(2)}`).join(", ");
    const words = `Weights of the values in the output: ${said}.`;
    figure.querySelector("desc").textContent = words;
    clearTimeout(announcing); // so that a slider under way isn't spoken at every step
    announcing = setTimeout(() => {
      figure.querySelector("[role=status]").textContent = words;
    }, 400);
  }

  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  figure.querySelector("figcaption span").textContent = "With two heads, rings mark their outputs.";
  update();
})();
