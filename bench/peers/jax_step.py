"""Times the training step of a Hamiltonian Monte Carlo variational auto-encoder in JAX."""

import argparse
import functools
import itertools
import json
import math
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

PIXELS, HIDDEN, DATA_ROWS = 784, 200, 10_000
LEARNING_RATE, FIRST_DECAY, SECOND_DECAY, ADAM_EPSILON = 1e-4, 0.9, 0.999, 1e-8
LOG_TWO_PI = math.log(2 * math.pi)


@jax.custom_jvp
def softplus(values):
    return jnp.maximum(values, 0) + jnp.log1p(jnp.exp(-jnp.abs(values)))


# The library's softplus differentiates into guarded exponentials; every force is differentiated
# once more, and naming the sigmoid reduces that second derivative to multiplications.
softplus.defjvps(lambda tangent, _, values: jax.nn.sigmoid(values) * tangent)


def network(layers, activation, values):
    """Applies dense layers with the activation between them, not after the last."""
    *inner_layers, (last_weights, last_bias) = layers
    for weights, bias in inner_layers:
        values = activation(values @ weights + bias)
    return values @ last_weights + last_bias


def initial_parameters(generator, latent, hmc_steps):
    def matrix(*shape):
        return jnp.array(0.1 * generator.standard_normal(shape, np.float32))

    def layers(*sizes):
        return [(matrix(*pair), jnp.zeros(pair[1])) for pair in itertools.pairwise(sizes)]

    parameters = {"encoder": layers(PIXELS, HIDDEN, HIDDEN, 2 * latent)}
    parameters["decoder"] = layers(latent, HIDDEN, HIDDEN, PIXELS)
    if hmc_steps:
        # The first layer of the reverse network is kept in parts, one for each kind of input.
        first = {"image": matrix(PIXELS, HIDDEN), "latent": matrix(latent, HIDDEN)}
        first |= {"time": matrix(HIDDEN), "bias": jnp.zeros(HIDDEN)}
        parameters["reverse"] = first | {"layers": layers(HIDDEN, HIDDEN, 2 * latent)}
        parameters |= {"log_mass": jnp.zeros(latent), "log_step_size": jnp.log(jnp.float32(0.01))}
    return parameters


def potential(decoder, images, position):
    """The negative log density of each image together with its latent position."""
    logits = network(decoder, softplus, position)
    reconstruction = jnp.sum(softplus(logits) - images * logits, axis=-1)
    return reconstruction + jnp.sum(position**2 + LOG_TWO_PI, axis=-1) / 2


def gaussian_entropy(log_variance):
    return jnp.sum(log_variance + LOG_TWO_PI + 1, axis=-1) / 2


def unrolled(body, state, inputs, length):
    """Does what a scan does, as straight-line code."""
    outputs = []
    for number in range(length):
        state, output = body(state, None if inputs is None else inputs[number])
        outputs.append(output)
    return state, jax.tree.map(lambda *leaves: jnp.stack(leaves), *outputs)


def mean_loss(parameters, images, position_noise, momentum_noise, leapfrog_steps, loop):
    """The negative lower bound on the log likelihood, averaged over the batch."""
    hmc_steps = len(momentum_noise)
    mean, log_variance = jnp.split(network(parameters["encoder"], jax.nn.relu, images), 2, axis=-1)
    position = mean + jnp.exp(log_variance / 2) * position_noise
    entropy = gaussian_entropy(log_variance)
    energy = functools.partial(potential, parameters["decoder"], images)
    if not hmc_steps:
        return jnp.mean(energy(position) - entropy)

    # Images do not interact, so the gradient of the summed energies holds each image's own.
    slope = jax.grad(lambda position: jnp.sum(energy(position)))
    log_mass, reverse = parameters["log_mass"], parameters["reverse"]
    step_size = jnp.exp(parameters["log_step_size"])
    drift = step_size * jnp.exp(-log_mass)

    # The gradient travels with the state, because the end of each leapfrog step, and of each
    # trajectory, is the start of the next: none is evaluated twice.
    def leapfrog(state, _):
        position, gradient, momentum = state
        momentum = momentum - step_size / 2 * gradient
        position = position + drift * momentum
        gradient = slope(position)
        return (position, gradient, momentum - step_size / 2 * gradient), None

    def trajectory(state, momentum):
        (*state, momentum), _ = loop(leapfrog, (*state, momentum), None, leapfrog_steps)
        return tuple(state), (state[0], momentum)

    state, momenta = (position, slope(position)), jnp.exp(log_mass / 2) * momentum_noise
    (position, _), (positions, momenta) = loop(trajectory, state, momenta, hmc_steps)

    # The dynamics never wait for the reverse network, so it takes all trajectory ends as one
    # batch; they share their images, which pass through its first layer only once.
    times = jnp.arange(2, hmc_steps + 2, dtype=jnp.float32)[:, None, None]
    hidden = images @ reverse["image"] + positions @ reverse["latent"]
    hidden = jax.nn.relu(hidden + times * reverse["time"] + reverse["bias"])
    mean, log_variance = jnp.split(network(reverse["layers"], jax.nn.relu, hidden), 2, axis=-1)
    surprise = (momenta - mean) ** 2 * jnp.exp(-log_variance) + log_variance + LOG_TWO_PI
    entropy += hmc_steps * gaussian_entropy(log_mass)
    return jnp.mean(energy(position) - entropy + jnp.sum(surprise, axis=(0, -1)) / 2)


def draw(data, index, key, latent, hmc_steps):
    """Binarises the rows of a batch at random and draws the noise that its bound needs."""
    image_key, noise_key = jax.random.split(key)
    # A random byte is below a pixel with probability pixel / 256 exactly, so one random word
    # serves four pixels, where uniform floats would take a word for each.
    words = jax.random.bits(image_key, (len(index), PIXELS // 4), jnp.uint32)
    thresholds = jax.lax.bitcast_convert_type(words, jnp.uint8).reshape(len(index), PIXELS)
    noise = jax.random.normal(noise_key, (1 + hmc_steps, len(index), latent))
    return (thresholds < data[index]).astype(jnp.float32), noise[0], noise[1:]


def adam(parameters, optimiser, gradients):
    first, second, count = optimiser
    rate = LEARNING_RATE / (1 - FIRST_DECAY ** (count + 1))
    correction = 1 / (1 - SECOND_DECAY ** (count + 1))

    def update(value, mean, square, gradient):
        mean = FIRST_DECAY * mean + (1 - FIRST_DECAY) * gradient
        square = SECOND_DECAY * square + (1 - SECOND_DECAY) * gradient**2
        return value - rate * mean / (jnp.sqrt(square * correction) + ADAM_EPSILON), mean, square

    updated = jax.tree.map(update, parameters, first, second, gradients)
    parameters, *averages = jax.tree.transpose(jax.tree.structure(parameters), None, updated)
    return parameters, (*averages, count + 1)


class Trainer:
    def __init__(self, options, batch):
        @functools.partial(jax.jit, donate_argnums=(0, 1))
        def step(parameters, optimiser, data, index):
            # The step number is kept on the device, so that no step waits for the host.
            key = jax.random.fold_in(jax.random.key(1), optimiser[-1])
            drawn = draw(data, index, key, options.latent, options.hmc_steps)
            settings = options.leapfrog_steps, jax.lax.scan if options.loop == "scan" else unrolled
            loss, gradients = jax.value_and_grad(mean_loss)(parameters, *drawn, *settings)
            return adam(parameters, optimiser, gradients), loss

        generator = np.random.default_rng(1)
        data = generator.integers(1, 256, (DATA_ROWS, PIXELS), np.uint8)
        data = jnp.array(data * (generator.random(data.shape, np.float32) < 0.19))
        rows = generator.integers(0, DATA_ROWS, (64, batch), np.int32)
        parameters = initial_parameters(generator, options.latent, options.hmc_steps)
        averages = (jax.tree.map(jnp.zeros_like, parameters) for _ in range(2))
        self.state = parameters, (*averages, jnp.zeros((), jnp.int32))
        self.step, self.batch, self.data = step, batch, data
        self.indices = itertools.cycle([jnp.array(row) for row in rows])
        self.time_per_image(3)  # compiles and warms up

    def time_per_image(self, steps):
        """Takes consecutive steps and returns the microseconds that each image took."""
        begin = time.perf_counter()
        for index in itertools.islice(self.indices, steps):
            self.state, self.loss = self.step(*self.state, self.data, index)
        jax.block_until_ready((self.state, self.loss))
        return (time.perf_counter() - begin) * 1e6 / (steps * self.batch)


def report(options, trainer, **times):
    record = {"peer": "jax", "version": jax.__version__, "device": jax.devices()[0].device_kind}
    names = "hmc_steps", "leapfrog_steps", "latent", "loop"
    record |= {"batch": trainer.batch} | {name: getattr(options, name) for name in names}
    record |= times | {"bound": -float(trainer.loss)}
    text = "  ".join(f"{name} {value}" for name, value in record.items())
    print(json.dumps(record) if options.json or options.serve else text, flush=True)


def measure(options):
    for batch in map(int, options.batch.split(",")):
        trainer = Trainer(options, batch)
        steps = options.steps or math.ceil(1e6 / (trainer.time_per_image(5) * batch))
        times = [trainer.time_per_image(steps) for _ in range(options.repeats)]
        best, median = min(times), float(np.median(times))
        report(options, trainer, us_per_image_best=best, us_per_image_median=median)


def serve(options):
    """Answers each line "go BATCH STEPS" with one timed repetition; any other line ends it."""
    trainer_for = functools.cache(functools.partial(Trainer, options))
    while (words := sys.stdin.readline().split()) and words[0] == "go":
        trainer = trainer_for(int(words[1]))
        report(options, trainer, us_per_image=trainer.time_per_image(int(words[2])))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", default="100", help="batch sizes, separated by commas")
    for name, default in {"latent": 20, "hmc-steps": 3, "leapfrog-steps": 4, "repeats": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--steps", type=int, help="in each repetition; default: a second's worth")
    parser.add_argument("--loop", choices=("scan", "unroll"), default="scan")
    parser.add_argument("--precision", choices=("highest", "default", "tf32"), default="highest")
    parser.add_argument("--json", action="store_true", help="print one JSON object per batch size")
    parser.add_argument("--serve", action="store_true", help='answer "go BATCH STEPS" on stdin')
    options = parser.parse_args()
    precision = {"tf32": "tensorfloat32"}.get(options.precision, options.precision)
    jax.config.update("jax_default_matmul_precision", precision)
    (serve if options.serve else measure)(options)


if __name__ == "__main__":
    main()
