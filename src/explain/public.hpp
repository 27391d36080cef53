// Marks a function that Python calls.
#pragma once

#define HALOSCOPE_PUBLIC extern "C" __attribute__((visibility("default")))
