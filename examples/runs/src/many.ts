export const many = (count: number) => (count === 1 ? "1 run" : `${count} runs`);
