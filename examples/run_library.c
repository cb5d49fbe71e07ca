/* Runs a network from C: no Python, and nothing of parpass, is there when it runs.

       parpass build model.onnx -o net.so --header net.h
       cc run_library.c -o run_library
       ./run_library ./net.so 1 2 3 4 5 6

   The network has one input `x` and one result, of floats; the numbers are the input. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net.h"

static void *checked(void *found, const char *what) {
    if (found == NULL || found == MAP_FAILED) {
        fprintf(stderr, "no %s\n", what);
        exit(1);
    }
    return found;
}

int main(int count, char **words) {
    if (count != 2 + DEFAULT_X_COUNT) {
        fprintf(stderr, "expected a library and %d numbers\n", DEFAULT_X_COUNT);
        return 2;
    }
    /* The code, and the weights behind it in the same file: mapped, not read. */
    void *library = checked(dlopen(words[1], RTLD_NOW), "library");
    __typeof__(&default_run) run = checked(dlsym(library, "default_run"), "function");
    const uint8_t *weights = NULL;
    if (DEFAULT_WEIGHTS_SIZE > 0) {
        int file = open(words[1], O_RDONLY);
        weights = checked(mmap(NULL, DEFAULT_WEIGHTS_SIZE, PROT_READ, MAP_SHARED, file,
                               DEFAULT_WEIGHTS_AT),
                          "weights");
        close(file);
    }
    uint8_t *workspace =
        checked(aligned_alloc(64, DEFAULT_WORKSPACE_SIZE / 64 * 64 + 64), "memory");

    static float x[DEFAULT_X_COUNT], result[DEFAULT_OUTPUT_0_COUNT];
    for (int at = 0; at < DEFAULT_X_COUNT; at++)
        x[at] = strtof(words[2 + at], NULL);
    int32_t status = run(x, result, weights, workspace);
    if (status != 0) {
        fprintf(stderr, "kernel %d found a fault\n", status);
        return 1;
    }
    for (int at = 0; at < DEFAULT_OUTPUT_0_COUNT; at++)
        printf("%g\n", result[at]);
    return 0;
}
