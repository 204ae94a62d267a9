// What inspect.html does in a browser: compute a model from its parameters, and draw what it does.
// Shapes as in submission/attention.py; positions count from 0, t is the one that looks, s is seen.
"use strict";
const page = JSON.parse(document.getElementById("page").textContent);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const visible = (text) => text.replaceAll(" ", "␣").replaceAll("\n", "↵");
const safe = (text) => new Option(text).innerHTML; // for HTML
const percent = (p) => (p > 0 && p < 5e-4 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %`);

function halves(text) { // in base64: numbers of half precision, the low byte first
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return Float32Array.from(new Uint16Array(bytes.buffer), (half) => {
    const [exponent, fraction] = [(half >> 10) & 31, half & 1023];
    const size = exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction * 2 ** -24;
    return half >> 15 ? -size : size;
  });
}

function softmax(scores) {
  const top = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - top));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

function gelu(x) { // x times the cumulative normal distribution (Abramowitz and Stegun, 7.1.26)
  const s = 1 / (1 + 0.3275911 * Math.abs(x) * Math.SQRT1_2);
  const factors = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  const tail = (factors.reduce((a, b) => a * s + b) * s * Math.exp((-x * x) / 2)) / 2;
  return x * (x < 0 ? tail : 1 - tail);
}

class Model {
  constructor({ tensors, ...shape }) {
    Object.assign(this, shape, { off: new Set() }); // heads that are switched off: "layer,head"
    const numbers = ([name, each]) => [name, typeof each === "string" ? halves(each) : each];
    this.tensors = Object.fromEntries(Object.entries(tensors).map(numbers));
  }

  linear(name, x) {
    const [w, bias] = [this.tensors[`${name}.weight`], this.tensors[`${name}.bias`]];
    const y = new Float32Array(w.length / x.length);
    for (let row = 0, at = 0; row < y.length; row++) {
      let total = bias ? bias[row] : 0;
      for (let i = 0; i < x.length; i += 2) total += w[at++] * x[i] + w[at++] * x[i + 1];
      y[row] = total;
    }
    return y;
  }

  norm(name, x) {
    const mean = sum(x) / x.length;
    const deviation = Math.sqrt(sum(x.map((v) => (v - mean) ** 2)) / x.length + 1e-5);
    const [weight, bias] = [this.tensors[`${name}.weight`], this.tensors[`${name}.bias`]];
    return x.map((v, i) => ((v - mean) / deviation) * weight[i] + bias[i]);
  }

  rotate(x, t) { // by RoPE, in pairs of channels that lie so far apart
    const [size, apart] = [x.length / this.heads, this.apart];
    for (let i = 0; i < x.length; i++) {
      const k = i % size;
      if (k % (2 * apart) >= apart) continue; // the second of a pair
      const angle = t / 1e4 ** ((apart === 1 ? k : 2 * k) / size);
      const [p, q, cos, sin] = [x[i], x[i + apart], Math.cos(angle), Math.sin(angle)];
      [x[i], x[i + apart]] = [p * cos - q * sin, p * sin + q * cos];
    }
    return x;
  }

  attend(layer, x, t) {
    const [name, size] = [`blocks.${layer}.attn`, x.length / this.heads];
    const { keys, values, weights } = this.past[layer];
    const [w2, b2] = [this.tensors[`${name}.w2`], this.tensors[`${name}.b2`]];
    const project = (part) => this.linear(`${name}.${part}`, x);
    const turn = (y) => (this.apart ? this.rotate(y, t) : y);
    // The synthesizer's keys are the columns of w2, whatever the text.
    keys[t] = w2 ? x.map((_, i) => w2[(i % size) * b2.length + t]) : turn(project("key"));
    values[t] = project("value");
    const query = w2 ? project("w1").map((v) => Math.max(0, v)) : turn(project("query"));
    const y = new Float32Array(x.length);
    for (let head = 0; head < this.heads; head++) {
      const [from, to, scores] = [head * size, (head + 1) * size, new Float32Array(t + 1)];
      for (let s = 0; s <= t; s++) {
        for (let i = from; i < to; i++) scores[s] += query[i] * keys[s][i];
        scores[s] = w2 ? scores[s] + b2[s] : scores[s] / Math.sqrt(size);
      }
      const row = (weights[head][t] = softmax(scores));
      if (this.off.has(`${layer},${head}`)) continue;
      row.forEach((weight, s) => {
        for (let i = from; i < to; i++) y[i] += weight * values[s][i];
      });
    }
    return this.linear(`${name}.proj`, y);
  }

  read(letter) { // one more; return the logits after it
    const [t, id] = [this.length++, page.letters.indexOf(letter)];
    const { "tok_emb.weight": letters, "ln_f.weight": { length: size }, pos_emb } = this.tensors;
    let x = letters.slice(id * size, (id + 1) * size);
    const plus = (y) => (x = x.map((v, i) => v + y[i]));
    if (pos_emb) plus(pos_emb.subarray(t * size));
    for (let layer = 0; layer < this.layers; layer++) {
      const name = `blocks.${layer}`;
      plus(this.attend(layer, this.norm(`${name}.ln1`, x), t));
      const hidden = this.linear(`${name}.mlp.0`, this.norm(`${name}.ln2`, x));
      plus(this.linear(`${name}.mlp.2`, hidden.map(gelu)));
    }
    return this.linear("head", this.norm("ln_f", x));
  }

  logits(text) { // after each letter of a text, which is read from its beginning
    const heads = () => Array.from({ length: this.heads }, () => []);
    const past = () => ({ keys: [], values: [], weights: heads() }); // by head, t and s
    Object.assign(this, { length: 0, past: Array.from({ length: this.layers }, past) });
    return [...text].map((letter) => this.read(letter));
  }

  // The known places with a beginning, and their probabilities, without those far below 0.1 %.
  places(logits, beginning = "", before = 1) {
    const [chances, length] = [softmax(logits), this.length];
    const members = page.places.filter((place) => place.startsWith(beginning));
    const letters = new Set(members.map((place) => place[beginning.length] ?? page.mask));
    return [...letters].flatMap((letter) => {
      const chance = before * (chances[page.letters.indexOf(letter)] ?? 0);
      if (letter === page.mask) return [[beginning, chance]];
      if (chance < 1e-5) return [];
      this.length = length; // forget other places
      return this.places(this.read(letter), beginning + letter, chance);
    });
  }

  answer(question) { // what look_inside in inspection.py finds
    const characters = [...question, page.mask];
    const [prompt, logits] = [characters.length, this.logits(characters)];
    const places = this.places(logits.at(-1)).sort((a, b) => b[1] - a[1]);
    this.length = prompt;
    const next = (row) => page.letters[row.indexOf(Math.max(...row))];
    while (characters.length < prompt + page.steps && next(logits.at(-1)) !== page.mask) {
      characters.push(next(logits.at(-1)));
      logits.push(this.read(characters.at(-1)));
    }
    return { question, characters, prompt, logits, places, layers: this.past };
  }
}

// Replace a table's rows, each a header and cells; numbers are probabilities, shown with bars.
function fill(table, rows) {
  const bar = (p) => `<td class="number bar" style="--share: ${100 * p}%">${safe(percent(p))}</td>`;
  const cell = (value) => (typeof value === "number" ? bar(value) : `<td>${safe(value)}</td>`);
  table.tBodies[0].innerHTML = rows.map(([header, ...cells]) =>
    `<tr><th scope="row">${safe(header)}</th>${cells.map(cell).join("")}</tr>`).join("");
}

// Where the first name begins and ends, and where the whole name ends, in the usual question.
function nameIn(question) {
  const name = /^Where was (.+) born\?$/.exec(question)?.[1] ?? "";
  return [10, 10 + name.split(" ")[0].length, 10 + name.length];
}

// What ablate.py calls a head's roles, for one question; and the position with the largest weight.
function roles(rows, { question, characters, prompt }) {
  const [[begin, first, end], mask] = [nameIn(question), rows[prompt - 1]];
  const before = rows.slice(begin, end).map((row, i) => row[begin + i - 1]);
  const names = [mask.slice(begin, first), mask.slice(first + 1, end)];
  const seen = [...names.map(sum), mask[prompt - 1]];
  const top = mask.indexOf(Math.max(...mask));
  const most = `${visible(characters[top])} (${top + 1})`; // positions are shown from 1
  return [sum(before) / (before.length || 1), ...seen, 1 - sum(seen), most];
}

function drawMap(svg, rows, { question, characters, prompt }) {
  const [T, [begin, , end]] = [characters.length, nameIn(question)];
  const canvas = Object.assign(document.createElement("canvas"), { width: T, height: T });
  const picture = new ImageData(T, T);
  for (let i = 0; i < T * T; i++) { // black, the more opaque the larger the weight
    picture.data[4 * i + 3] = 255 * Math.sqrt(Math.max(0, rows[Math.floor(i / T)][i % T] ?? 0));
  }
  canvas.getContext("2d").putImageData(picture, 0, 0);
  const text = (x, y, letter) => `<text x="${x}" y="${y}">${safe(visible(letter))}</text>`;
  const letters = characters.map((c, i) => text(i + 0.5, -0.2, c) + text(-0.5, i + 0.8, c));
  svg.setAttribute("viewBox", `-1 -1 ${T + 1} ${T + 1}`);
  svg.innerHTML = `<rect class="name" x="${begin}" width="${end - begin}" height="${T}"/>
    <image class="map" href="${canvas.toDataURL()}" width="${T}" height="${T}"/>
    <rect class="mask" y="${prompt - 1}" width="${T}" height="1"/>${letters.join("")}`;
}

// The characters that were written, with the MASK, their probabilities, and the likeliest others.
function steps({ characters, prompt, logits }) {
  return logits.slice(prompt - 1, prompt - 1 + page.steps).map((row, i) => {
    const [character, chances] = [characters[prompt + i] ?? page.mask, softmax(row)];
    const others = page.letters.map((letter, id) => [letter, chances[id]])
      .filter(([letter]) => letter !== character).sort((a, b) => b[1] - a[1]);
    const rivals = others.slice(0, 3).map(([c, chance]) => `${visible(c)} ${percent(chance)}`);
    return [visible(character), chances[page.letters.indexOf(character)], rivals.join(", ")];
  });
}

function draw(section, run) { // what answer() or look_inside found
  const write = (name, text) => section.querySelectorAll(`.${name}`).forEach((part) => {
    part.textContent = text; // there is no .known where no place can be written
  });
  const [rest, written] = [run.characters.slice(run.prompt), steps(run)];
  write("answer", visible(rest.join("")) || "(nothing)");
  write("probability", percent(written.reduce((product, [, chance]) => product * chance, 1)));
  write("known", percent(sum(run.places.map(([, chance]) => chance))));
  section.querySelector(".endless").hidden = rest.length < page.steps;
  section.querySelectorAll(".places").forEach((table) => fill(table, run.places.slice(0, 5)));
  fill(section.querySelector(".steps"), written);
  const rows = [];
  run.layers.forEach(({ note, weights }, l) => {
    const layer = section.querySelectorAll(".layer")[l];
    layer.querySelector(".note").textContent = note ?? "";
    layer.querySelector(".heads").hidden = !weights;
    weights?.forEach((head, h) => {
      const part = layer.querySelectorAll(".head")[h];
      const off = part.querySelector("input").checked ? "" : " (off)";
      rows.push([`Layer ${l + 1}, head ${h + 1}${off}`, ...roles(head, run)]);
      drawMap(part.querySelector("svg"), head, run);
    });
  });
  fill(section.querySelector(".roles"), rows);
}

// Show what torch computed. If the page computes the same, return a function that asks it instead.
function start(run, i) {
  const section = document.getElementById(`model${i}`);
  draw(section, run);
  if (!window.parameters?.[i]) return null;
  section.querySelector(".absent").hidden = true;
  const model = new Model(parameters[i]);
  const isClose = (row, t) => row.every((v, id) => Math.abs(v - run.logits[t][id]) < 0.05);
  const alive = model.logits(run.characters).every(isClose);
  section.querySelector(".different").hidden = alive;
  const boxes = [...section.querySelectorAll(".head input")];
  const ready = { disabled: !alive, onchange: () => form.requestSubmit() };
  boxes.forEach((box) => Object.assign(box, ready));
  return alive && ((question) => {
    model.off = new Set(boxes.filter((box) => !box.checked).map((box) => box.value));
    draw(section, model.answer(question));
  });
}

const form = document.forms[0];
const asks = page.models.map(start).filter(Boolean);
form.hidden = asks.length === 0;
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = form.elements.question.value;
  document.querySelector("h1").textContent = question;
  document.querySelector("#place").textContent = page.recorded[question] ?? page.unrecorded;
  asks.forEach((ask) => ask(question));
});
