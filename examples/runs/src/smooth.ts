/**
 * The exponential moving average of the values, without the initial bias, as in TensorBoard. `weight` is the weight of the past per step; 0
 * returns the values unchanged. The past loses as much weight across steps that downsampling left out.
 */
export function smooth(steps: readonly number[], values: readonly (number | null)[], weight: number) {
  let [average, debias, before] = [0, 0, 0];
  return values.map((value, at) => {
    const step = steps[at] ?? 0;
    if (value === null) return null;
    const past = weight ** Math.max(1, step - before);
    before = step;
    average = average * past + value * (1 - past);
    debias = debias * past + 1 - past;
    return average / debias;
  });
}
