/**
 * The exponential moving average of the values, without the bias of its beginning, as TensorBoard draws it. `weight` is the weight of the
 * past at each step: 0 leaves the values as they are. Where downsampling left out points, the past weighs correspondingly less.
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
