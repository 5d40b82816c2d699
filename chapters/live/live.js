// What the live figures share. Each has a file of its own with one function, which gets a stage to
// stand on and what the figure was given in Python. What is shown is computed by attention.js.
//
// What can be dragged has a slider as well, so that keyboard, touch and screen reader reach all of
// it. Nothing moves by itself.

const two = (number) => number.toFixed(2).replace("-", "−");
const clamp = (number, low, high) => Math.min(Math.max(number, low), high);

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function draw(parent, tag, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  parent.append(element);
  element.textContent = text;
  return set(element, attributes);
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// A slider between its name and its number.
function slider(parent, name, { min, max, step = 0.01, value, say = two }, changed) {
  const input = make("input", { type: "range", min, max, step, value });
  const shown = set(make("span", { className: "number" }), { "aria-hidden": true });
  parent.append(make("label", {}, make("span", { textContent: name }), input, shown));
  const tell = () => {
    shown.textContent = say(Number(input.value));
    set(input, { "aria-valuetext": shown.textContent });
  };
  input.addEventListener("input", () => (tell(), changed()));
  tell();
  return {
    get value() {
      return Number(input.value);
    },
    set value(number) {
      input.value = number;
      tell();
    },
  };
}

// The handle follows finger or mouse; `moved` gets the place in the units of the picture.
function drag(picture, handle, moved) {
  const place = (event) =>
    new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
  handle.classList.add("handle");
  // Else a finger would move the page; touch-action does not reach into a picture.
  handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    moved(place(event));
  });
  handle.addEventListener("pointermove", (event) => {
    if (handle.hasPointerCapture(event.pointerId)) moved(place(event));
  });
}

function table(caption, head) {
  const body = make("tbody");
  const cells = head.map((text) =>
    text ? make("th", { scope: "col", textContent: text }) : make("td"),
  );
  const whole = make("table", {}, make("caption", { textContent: caption }));
  whole.append(make("thead", {}, make("tr", {}, ...cells)), body);
  return { whole, body };
}

// Put its stage into every figure of this name that has none yet. The picture that stands there
// stays for paper.
function begin(figure) {
  for (const place of document.querySelectorAll(`[data-live="${figure.name}"]:not(.begun)`)) {
    const stage = make("div", { className: "stage" });
    figure(stage, JSON.parse(place.dataset.given));
    place.querySelector("figcaption").before(stage);
    place.classList.add("begun");
  }
}

// What 16 bits are as float16.
const HALVES = Float32Array.from({ length: 65536 }, (_, bits) => {
  const [exponent, fraction] = [(bits >> 10) & 31, (bits & 1023) / 1024];
  const size = exponent ? (1 + fraction) * 2 ** (exponent - 15) : fraction * 2 ** -14;
  return bits & 0x8000 ? -size : size;
});

// Numbers of two bytes each, written in base64.
function halves(base64) {
  const bytes = atob(base64);
  const numbers = new Float32Array(bytes.length / 2);
  for (let i = 0; i < numbers.length; i++)
    numbers[i] = HALVES[bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8)];
  return numbers;
}
