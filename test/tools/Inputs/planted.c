// A library that says that it was loaded.
#include <unistd.h>

__attribute__((constructor)) static void load(void) { (void)!write(STDOUT_FILENO, "planted\n", 8); }
