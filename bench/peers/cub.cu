// CUB, on a GPU. The protocol is in README.md; build.sh builds it.
//
// CUB reduces a whole array (DeviceReduce), and rows of one length and segments of any (DeviceSegmentedReduce), which are told how long
// the longest segment is. `cub by-key` takes segments and groups as keys beside the elements: it sorts pairs (groups only,
// DeviceRadixSort) and reduces runs of equal keys (DeviceReduce::ReduceByKey). Input iterators are plain pointers
// wherever CUB takes them, so that it loads in its own widest way. 16-bit floats are added in float, integers in 64 bits, as
// everybody else here does.

#include <cub/cub.cuh>
#include <cuda/functional>
#include <cuda/iterator>
#include <cuda/std/utility>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

static_assert(CCCL_MAJOR_VERSION >= 3, "CCCL 3 or later is needed: set CCCL to a checkout of it, and run build.sh again");

using bf16 = __nv_bfloat16;
using f16 = __half;

constexpr int PROTOCOL = 3, POISON = 0xa5;
constexpr int64_t LEAST_NS = 1000000, LONG_NS = 20000000, MOST_CALLS = 100000, CACHES = 4, MOST_COPIES = 64, GRAPH_CALLS = 32;

struct Skip : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void check(cudaError_t said, const char* call) {
    if (said != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(said));
}
#define CHECK(call) check(call, #call)

// ---- JSON, as far as this protocol needs it: keys are unique in a line, and texts have no escapes.

std::string after(const std::string& line, const std::string& key) {
    auto at = line.find("\"" + key + "\":");
    if (at == std::string::npos) throw std::runtime_error("no " + key + " in " + line);
    return line.substr(at + key.size() + 3);
}

std::string text(const std::string& line, const std::string& key) {
    auto rest = after(line, key);
    return rest.substr(1, rest.find('"', 1) - 1);
}

int64_t number(const std::string& line, const std::string& key) { return std::stoll(after(line, key)); }

bool flag(const std::string& line, const std::string& key) { return after(line, key).rfind("true", 0) == 0; }

std::vector<int64_t> list(const std::string& line, const std::string& key) {
    auto rest = after(line, key);
    std::vector<int64_t> numbers;
    std::stringstream inside(rest.substr(1, rest.find(']') - 1));
    for (std::string part; std::getline(inside, part, ',');) numbers.push_back(std::stoll(part));
    return numbers;
}

std::string quoted(const std::string& words) {
    std::string safe;
    for (char c : words) safe += (c == '"' || c == '\\' || c < ' ') ? ' ' : c;
    return "\"" + safe + "\"";
}

// ---- Data: README.md's generator.

enum class Kind { Values, Nan, Rare, Common };

__host__ __device__ uint32_t mix(uint32_t h) {
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ (h >> 16);
}

template <class T> constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

template <class T> __device__ T value(Kind kind, uint32_t h) {
    if (kind == Kind::Rare) return T(h < 4 ? 1.0f : 0.0f);
    if (kind == Kind::Common) return T(h >= 4 ? 1.0f : 0.0f);
    if (is_float<T> && kind == Kind::Nan && (h & 63) == 0) return T(__int_as_float(0x7fc00000));
    if constexpr (std::is_same_v<T, f16>) return T(float(2 * int(h >> 22) - 1023) / 2048.0f);
    else if constexpr (std::is_same_v<T, bf16>) return T(float(int(h >> 24) - 96) / 256.0f);
    else if constexpr (std::is_same_v<T, float>) return float(int(h >> 8) - (3 << 21)) / 16777216.0f;
    else if constexpr (sizeof(T) == 8) {
        uint64_t second = mix(h + 0x9e3779b9u);
        if constexpr (std::is_same_v<T, double>)
            return double(int64_t((uint64_t(h) << 20) | (second >> 12)) - (int64_t(3) << 49)) / 4503599627370496.0;
        else return T((uint64_t(h) << 32) | second);
    } else return T(h >> (32 - 8 * sizeof(T)));
}

template <class T> __global__ void generate(T* memory, int64_t n, Kind kind, uint32_t seed) {
    int64_t step = int64_t(gridDim.x) * blockDim.x;
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
        memory[i] = value<T>(kind, mix(uint32_t(i) + seed * 0x9e3779b9u));
}

// ---- Keys: README.md's segments.

/// Where the segments of n elements begin, and where the last one ends.
std::vector<int64_t> offsets(const std::string& lengths, int64_t n, uint32_t seed) {
    std::vector<int64_t> all{0};
    bool is_uniform = lengths.rfind("uniform:", 0) == 0;
    int64_t uniform = is_uniform ? std::stoll(lengths.substr(8)) : 0;
    for (int64_t i = 0, at = 0; at < n; i++) {
        uint32_t h = mix(uint32_t(i) + (seed + 1) * 0x9e3779b9u), nibbles = 0;
        int64_t length = h >> 31;
        if (is_uniform) length = uniform;
        else if (lengths == "power-law") {
            while (nibbles < 7 && (h & ((1u << 4 * (nibbles + 1)) - 1)) == 0) nibbles++;
            length = 1 + ((uint64_t(mix(h + 0x9e3779b9u) >> 16) << (3 * (nibbles + 1))) >> 16);
        } else if (i == n / 512) length = std::max<int64_t>(n - n / 1024 - at, 0);
        at = std::min(at + length, n);
        all.push_back(at);
    }
    return all;
}

// ---- A prepared case.

struct Memory {
    void* start = nullptr;
    explicit Memory(size_t bytes) { CHECK(cudaMalloc(&start, bytes ? bytes : 1)); }
    Memory(const Memory&) = delete;
    ~Memory() { cudaFree(start); }
};

struct Case {
    std::string op, key;
    /// On the device, one more than there are rows; of segments only.
    std::shared_ptr<Memory> offsets;
    /// The same for the host, and the longest segment.
    std::shared_ptr<std::vector<int64_t>> cuts;
    size_t longest = 0;
    /// Elements in memory.
    int64_t room;
    int64_t n, rows, row, offset, groups = 0;
    bool whole, skip_nan, latency, graph;
    Kind kind;
    uint32_t seed;
};

struct Prepared {
    virtual ~Prepared();
    virtual void call(int64_t turn) = 0;
    virtual void to_host() = 0;
    virtual void poison() = 0;
    virtual std::string result(const std::vector<int64_t>* positions) = 0;
    std::string cache;
    int64_t calls = 1, ns = 0;
    bool latency = false;
    /// Of GRAPH_CALLS calls, if they are measured so.
    cudaGraphExec_t graph = nullptr;

    /// The stream is this thread's default one: build.sh asks for that, as the old default cannot be recorded.
    void record() {
        cudaGraph_t recorded;
        CHECK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeRelaxed));
        for (int64_t i = 0; i < GRAPH_CALLS; i++) call(i);
        CHECK(cudaStreamEndCapture(cudaStreamPerThread, &recorded));
        CHECK(cudaGraphInstantiate(&graph, recorded, 0));
        cudaGraphDestroy(recorded);
    }
};

Prepared::~Prepared() {
    if (graph) cudaGraphExecDestroy(graph);
}

template <class T> const char* name();
template <> const char* name<f16>() { return "f16"; }
template <> const char* name<bf16>() { return "bf16"; }
template <> const char* name<float>() { return "f32"; }
template <> const char* name<double>() { return "f64"; }
template <> const char* name<int8_t>() { return "i8"; }
template <> const char* name<uint8_t>() { return "u8"; }
template <> const char* name<int32_t>() { return "i32"; }
template <> const char* name<int64_t>() { return "i64"; }
template <> const char* name<uint64_t>() { return "u64"; }
template <> const char* name<bool>() { return "bool"; }

template <class R> std::string shown(R x) {
    char buffer[64];
    if constexpr (is_float<R>) {
        double v = double(x);
        if (std::isnan(v)) return "\"nan\"";
        std::snprintf(buffer, sizeof buffer, "\"%.17g\"", v);
    } else if constexpr (std::is_signed_v<R>) std::snprintf(buffer, sizeof buffer, "\"%lld\"", (long long)x);
    else std::snprintf(buffer, sizeof buffer, "\"%llu\"", (unsigned long long)x);
    return buffer;
}

/// The inputs, kept from one case to the next that has the same.
struct Inputs {
    std::string key;
    std::vector<std::unique_ptr<Memory>> copies;
} kept;

/// Makes the inputs, unless they are there; how many there are to take turns, and where they come from.
template <class T> int64_t fill(const Case& c, std::string& cache) {
    int device, l2;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
    size_t size = c.room * sizeof(T), free, total;
    if (kept.key != c.key) kept = {c.key, {}};
    CHECK(cudaMemGetInfo(&free, &total));
    int64_t copies = std::min<int64_t>(MOST_COPIES, std::max<int64_t>(1, (CACHES * l2 + size - 1) / size));
    int64_t there = kept.copies.size();
    copies = c.latency ? 1 : std::min<int64_t>(copies, std::max<int64_t>(1, there + free / 2 / size));
    for (int64_t i = there; i < copies; i++) {
        kept.copies.push_back(std::make_unique<Memory>(size));
        generate<<<1024, 256>>>(static_cast<T*>(kept.copies[i]->start) + c.offset, c.room - c.offset, c.kind, c.seed);
        CHECK(cudaGetLastError());
    }
    cache = std::string(copies * size > 2 * size_t(l2) ? "cold" : "warm") + ": " + std::to_string(copies) + " inputs of " +
            std::to_string(size) + " bytes in turn, " + std::to_string(l2) + " bytes of L2";
    return copies;
}

/// `R`: the result's type; `launch(temporary, bytes, input, output)` is the call of CUB.
template <class T, class Out, class R> struct Run : Prepared {
    using Launch = std::function<cudaError_t(void*, size_t&, const T*, Out*)>;
    Case c;
    Launch launch;
    std::function<R(const Out&)> pick;
    int64_t copies;
    std::unique_ptr<Memory> output, temporary;
    size_t bytes = 0;
    Out* pinned = nullptr;

    Run(const Case& c, Launch launch, std::function<R(const Out&)> pick) : c(c), launch(launch), pick(pick) {
        copies = fill<T>(c, cache);
        output = std::make_unique<Memory>(c.rows * sizeof(Out));
        CHECK(launch(nullptr, bytes, input(0), out()));
        temporary = std::make_unique<Memory>(bytes);
        CHECK(cudaMallocHost(&pinned, c.rows * sizeof(Out)));
        latency = c.latency;
        call(0);
        CHECK(cudaDeviceSynchronize());
    }

    ~Run() override { cudaFreeHost(pinned); }

    T* input(int64_t i) { return static_cast<T*>(kept.copies[i]->start) + c.offset; }
    Out* out() { return static_cast<Out*>(output->start); }

    void call(int64_t turn) override { CHECK(launch(temporary->start, bytes, input(turn % copies), out())); }

    void to_host() override {
        CHECK(cudaMemcpyAsync(pinned, out(), c.rows * sizeof(Out), cudaMemcpyDeviceToHost));
        CHECK(cudaStreamSynchronize(nullptr));
    }

    void poison() override { CHECK(cudaMemset(out(), POISON, c.rows * sizeof(Out))); }

    std::string result(const std::vector<int64_t>* positions) override {
        to_host();
        std::string values;
        int64_t many = positions ? positions->size() : c.rows;
        for (int64_t i = 0; i < many; i++) values += (i ? "," : "") + shown<R>(pick(pinned[positions ? (*positions)[i] : i]));
        return std::string("{\"dtype\":\"") + name<R>() + "\",\"outputs\":" + std::to_string(c.rows) + ",\"values\":[" + values + "]}";
    }
};

/// Results that are outputs as they are.
template <class T, class R> std::unique_ptr<Prepared> plain(const Case& c, typename Run<T, R, R>::Launch launch) {
    return std::make_unique<Run<T, R, R>>(c, launch, [](const R& x) { return x; });
}

struct Square {
    __host__ __device__ float operator()(float x) const { return x * x; }
};
struct Present {
    __host__ __device__ float operator()(float x) const { return x == x ? x : 0.0f; }
};
struct NonZero {
    __host__ __device__ bool operator()(float x) const { return x != 0.0f; }
};
struct Divide {
    float by;
    __host__ __device__ float operator()(float x) const { return x / by; }
};
struct Root {
    __host__ __device__ float operator()(float x) const { return sqrtf(x); }
};

/// A tree of lifted elements: TransformReduce of all, Reduce over a transforming iterator of rows.
template <class Lift, class Op, class A, class Finish> auto lifted(const Case& c, Lift lift, Op op, A zero, Finish finish) {
    return [=](void* t, size_t& b, const float* in, auto* out) {
        auto to = cuda::make_transform_output_iterator(out, finish);
        if (c.whole) return cub::DeviceReduce::TransformReduce(t, b, in, to, c.n, op, lift, zero);
        auto from = cuda::make_transform_iterator(in, lift);
        return cub::DeviceSegmentedReduce::Reduce(t, b, from, to, c.rows, int(c.row), op, zero);
    };
}

struct Same {
    template <class T> __host__ __device__ T operator()(T x) const { return x; }
};

/// Segments of which none is longer than so many elements: up to a tile, several share a block. The call that takes this is not public yet.
template <class Acc, class T, class Out, class Op>
cudaError_t bounded(const Case& c, void* t, size_t& b, const T* in, Out* out, Op op, Acc zero) {
    auto from = static_cast<const int64_t*>(c.offsets->start), to = from + 1;
#if CUB_VERSION >= 300500
    return cub::detail::segmented_reduce::dispatch<Acc, int64_t>(t, b, in, out, c.rows, from, to, op, zero, c.longest, nullptr);
#else
    return cub::DeviceSegmentedReduce::Reduce(t, b, in, out, c.rows, from, to, op, zero);
#endif
}

/// Segments of any length. CUB marks the result of nothing with the least value; zero is filled in.
template <class T, class Sum, class Acc> std::unique_ptr<Prepared> segments(const Case& c) {
    auto from = static_cast<const int64_t*>(c.offsets->start), to = from + 1;
    auto rows = c.rows;
    if (c.op == "sum")
        return plain<T, Sum>(c, [=](void* t, size_t& b, const T* in, Sum* out) {
            return bounded<Acc>(c, t, b, in, out, cuda::std::plus<Acc>{}, Acc(0));
        });
    T least = cuda::std::numeric_limits<T>::lowest();
    if (c.op == "max")
        return std::make_unique<Run<T, T, T>>(
            c,
            [=](void* t, size_t& b, const T* in, T* out) { return bounded<T>(c, t, b, in, out, cuda::maximum<T>{}, least); },
            [=](const T& x) { return x == least ? T(0.0f) : x; });
    if (c.op == "argmax") {
        using Pair = cub::KeyValuePair<int, T>;
        return std::make_unique<Run<T, Pair, int64_t>>(
            c,
            [=](void* t, size_t& b, const T* in, Pair* out) {
                return cub::DeviceSegmentedReduce::ArgMax(t, b, in, out, rows, from, to);
            },
            [=](const Pair& pair) { return pair.value == least ? 0 : int64_t(pair.key); });
    }
    throw Skip("this program has no " + c.op + " of segments");
}

template <class A> struct As {
    template <class T> __host__ __device__ A operator()(T x) const { return A(x); }
};

/// Runs of equal keys, of pairs that are sorted by key if they are not so already: sums or maxima of segments, sums of groups.
template <class T, class A, class Op> struct ByKey : Prepared {
    Case c;
    Op op;
    int64_t copies, runs_of;
    int bits = 1;
    std::vector<std::unique_ptr<Memory>> keys;
    std::unique_ptr<Memory> sorted_keys, sorted, present, found, runs, temporary;
    size_t sort_bytes = 0, reduce_bytes = 0;

    ByKey(const Case& c, Op op) : c(c), op(op) {
        copies = fill<T>(c, cache);
        latency = c.latency;
        runs_of = std::min<int64_t>(c.n, c.groups ? c.groups : c.rows);
        std::vector<int32_t> host(c.n);
        if (c.groups) {
            while (bits < 31 && (int64_t(1) << bits) < c.groups) bits++;
            for (int64_t i = 0; i < c.n; i++)
                host[i] = int32_t((uint64_t(mix(uint32_t(i) + (c.seed + 1) * 0x9e3779b9u)) * uint64_t(c.groups)) >> 32);
            sorted_keys = std::make_unique<Memory>(c.n * sizeof(int32_t));
            sorted = std::make_unique<Memory>(c.n * sizeof(T));
        } else {
            for (int64_t s = 0; s < c.rows; s++) std::fill(host.begin() + (*c.cuts)[s], host.begin() + (*c.cuts)[s + 1], int32_t(s));
        }
        // Of its own for each input, so that they do not come from a cache either.
        for (int64_t i = 0; i < copies; i++) {
            keys.push_back(std::make_unique<Memory>(c.n * sizeof(int32_t)));
            CHECK(cudaMemcpy(keys[i]->start, host.data(), c.n * sizeof(int32_t), cudaMemcpyHostToDevice));
        }
        present = std::make_unique<Memory>(runs_of * sizeof(int32_t));
        found = std::make_unique<Memory>(runs_of * sizeof(A));
        runs = std::make_unique<Memory>(sizeof(int64_t));
        if (c.groups) CHECK(sort(nullptr, 0));
        CHECK(reduce(nullptr, 0));
        temporary = std::make_unique<Memory>(std::max(sort_bytes, reduce_bytes));
        call(0);
        CHECK(cudaDeviceSynchronize());
    }

    template <class V> static V* at(const std::unique_ptr<Memory>& memory) { return static_cast<V*>(memory->start); }
    const T* input(int64_t i) { return static_cast<const T*>(kept.copies[i]->start) + c.offset; }

    cudaError_t sort(void* t, int64_t i) {
        return cub::DeviceRadixSort::SortPairs(t, sort_bytes, at<int32_t>(keys[i]), at<int32_t>(sorted_keys), input(i), at<T>(sorted),
                                               c.n, 0, bits);
    }

    cudaError_t reduce(void* t, int64_t i) {
        const int32_t* by = c.groups ? at<int32_t>(sorted_keys) : at<int32_t>(keys[i]);
        const T* from = c.groups ? at<T>(sorted) : input(i);
        return cub::DeviceReduce::ReduceByKey(t, reduce_bytes, by, at<int32_t>(present), cuda::make_transform_iterator(from, As<A>{}),
                                              at<A>(found), at<int64_t>(runs), op, c.n);
    }

    void call(int64_t turn) override {
        if (c.groups) CHECK(sort(temporary->start, turn % copies));
        CHECK(reduce(temporary->start, turn % copies));
    }

    void to_host() override { CHECK(cudaDeviceSynchronize()); }

    void poison() override { CHECK(cudaMemset(found->start, POISON, runs_of * sizeof(A))); }

    std::string result(const std::vector<int64_t>* positions) override {
        int64_t many = 0;
        CHECK(cudaMemcpy(&many, runs->start, sizeof many, cudaMemcpyDeviceToHost));
        std::vector<int32_t> ids(many);
        std::vector<A> sums(many);
        CHECK(cudaMemcpy(ids.data(), present->start, many * sizeof(int32_t), cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(sums.data(), found->start, many * sizeof(A), cudaMemcpyDeviceToHost));
        // Keys without elements have no run: zero is filled in.
        int64_t outputs = c.groups ? c.groups : c.rows;
        std::vector<A> all(outputs, A(0));
        for (int64_t i = 0; i < many; i++) all[ids[i]] = sums[i];
        std::string values;
        int64_t shown_of = positions ? positions->size() : outputs;
        for (int64_t i = 0; i < shown_of; i++) values += (i ? "," : "") + shown<A>(all[positions ? (*positions)[i] : i]);
        return std::string("{\"dtype\":\"") + name<A>() + "\",\"outputs\":" + std::to_string(outputs) + ",\"values\":[" + values + "]}";
    }
};

template <class T, class Sum> std::unique_ptr<Prepared> by_key(const Case& c) {
    if (c.op == "sum") return std::make_unique<ByKey<T, Sum, cuda::std::plus<Sum>>>(c, cuda::std::plus<Sum>{});
    if (c.op == "max" && !c.groups) return std::make_unique<ByKey<T, T, cuda::maximum<T>>>(c, cuda::maximum<T>{});
    throw Skip("this program has no " + c.op + " by key");
}

/// `cub by-key`.
bool is_by_key = false;

template <class T> std::unique_ptr<Prepared> prepare(const Case& c) {
    using Sum = std::conditional_t<is_float<T>, T, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
    using Acc = std::conditional_t<is_float<T> && sizeof(T) == 2, float, Sum>;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, int32_t>) {
        if (is_by_key && (c.offsets || c.groups)) return by_key<T, Sum>(c);
        if (c.offsets) return segments<T, Sum, Acc>(c);
    }
    if (is_by_key) throw Skip("reductions by key are measured with segments and groups of f32 and i32 only");
    if (c.offsets) throw Skip(std::string("this program has segments of f32 and i32, not of ") + name<T>());
    if (c.op == "sum" && !c.skip_nan)
        return plain<T, Sum>(c, [c](void* t, size_t& b, const T* in, Sum* out) {
            if (c.whole) return cub::DeviceReduce::Reduce(t, b, in, out, c.n, cuda::std::plus<Acc>{}, Acc(0));
            return cub::DeviceSegmentedReduce::Reduce(t, b, in, out, c.rows, int(c.row), cuda::std::plus<Acc>{}, Acc(0));
        });
    if (c.op == "max")
        return plain<T, T>(c, [c](void* t, size_t& b, const T* in, T* out) {
            if (c.whole) return cub::DeviceReduce::Max(t, b, in, out, c.n);
            return cub::DeviceSegmentedReduce::Max(t, b, in, out, c.rows, int(c.row));
        });
    if (c.op == "argmax" && c.whole) {
        // The value goes to memory behind the index.
        struct Both {
            int64_t index;
            T value;
        };
        return std::make_unique<Run<T, Both, int64_t>>(
            c,
            [c](void* t, size_t& b, const T* in, Both* out) {
                return cub::DeviceReduce::ArgMax(t, b, in, &out->value, &out->index, c.n);
            },
            [](const Both& both) { return both.index; });
    }
    if (c.op == "argmax") {
        using Pair = cuda::std::pair<int, T>;
        return std::make_unique<Run<T, Pair, int64_t>>(
            c,
            [c](void* t, size_t& b, const T* in, Pair* out) {
                return cub::DeviceSegmentedReduce::ArgMax(t, b, in, out, c.rows, int(c.row));
            },
            [](const Pair& pair) { return int64_t(pair.first); });
    }
    if constexpr (std::is_same_v<T, float>) {
        cuda::std::plus<float> add;
        if (c.op == "sum") return plain<T, float>(c, lifted(c, Present{}, add, 0.0f, Same{}));
        if (c.op == "mean") return plain<T, float>(c, lifted(c, Same{}, add, 0.0f, Divide{float(c.row)}));
        if (c.op == "norm") return plain<T, float>(c, lifted(c, Square{}, add, 0.0f, Root{}));
        if (c.op == "any") return plain<T, bool>(c, lifted(c, NonZero{}, cuda::std::logical_or<bool>{}, false, Same{}));
    }
    throw Skip("CUB has no " + c.op + " of " + name<T>() + " in one call");
}

std::unique_ptr<Prepared> prepare(const std::string& line) {
    Case c;
    c.op = text(line, "op");
    auto dtype = text(line, "dtype"), layout = text(line, "layout"), kind = text(line, "kind");
    auto shape = list(line, "shape"), axes = list(line, "axes");
    if (after(line, "groups").rfind("null", 0) != 0) c.groups = number(line, "groups");
    if (c.op == "unique" || (c.groups && !is_by_key) || after(line, "clusters").rfind("null", 0) != 0)
        throw Skip("CUB has no " + c.op + " by key in one call");
    c.skip_nan = flag(line, "skip_nan");
    c.latency = text(line, "measure") == "latency";
    c.graph = text(line, "measure") == "graph";
    c.room = number(line, "room");
    c.offset = number(line, "offset");
    c.seed = uint32_t(number(line, "seed"));
    c.kind = kind == "nan" ? Kind::Nan : kind == "rare" ? Kind::Rare : kind == "common" ? Kind::Common : Kind::Values;
    c.key = dtype + " " + kind + " " + std::to_string(c.seed) + " " + std::to_string(c.offset) + " " + std::to_string(number(line, "room"));
    c.n = c.row = 1;
    for (auto d : shape) c.n *= d;
    for (auto axis : axes) c.row *= shape[axis];
    c.rows = c.n / c.row;
    c.whole = c.rows == 1;
    if (after(line, "segments").rfind("null", 0) != 0) {
        auto host = offsets(text(line, "segments"), c.n, c.seed);
        c.rows = host.size() - 1;
        c.whole = false;
        for (int64_t s = 0; s < c.rows; s++) c.longest = std::max<size_t>(c.longest, host[s + 1] - host[s]);
        c.offsets = std::make_shared<Memory>(host.size() * sizeof(int64_t));
        CHECK(cudaMemcpy(c.offsets->start, host.data(), host.size() * sizeof(int64_t), cudaMemcpyHostToDevice));
        c.cuts = std::make_shared<std::vector<int64_t>>(std::move(host));
    }
    bool is_last = true;
    for (size_t i = 0; i < axes.size(); i++) is_last &= axes[axes.size() - 1 - i] == int64_t(shape.size() - 1 - i);
    if (layout.rfind("pitch", 0) == 0 && shape.size() > 1) throw Skip("CUB has no rows with padding in one call");
    if (layout.rfind("step", 0) == 0) throw Skip("CUB has no elements that lie apart in one call");
    if ((layout == "f" || layout.rfind("order", 0) == 0) && !(c.whole && c.op != "argmax")) throw Skip("CUB reduces rows, and whole arrays in memory's order");
    if (!c.whole && !is_last) throw Skip("CUB reduces rows, no columns");
    if (!c.whole && !c.offsets && c.row > std::numeric_limits<int>::max()) throw Skip("CUB's rows have less than 2^31 elements");
    if (c.skip_nan && c.op != "sum") throw Skip("CUB has no " + c.op + " that skips NaNs");
    if (dtype == "f32") return prepare<float>(c);
    if (dtype == "f64") return prepare<double>(c);
    if (dtype == "f16") return prepare<f16>(c);
    if (dtype == "bf16") return prepare<bf16>(c);
    if (dtype == "i8") return prepare<int8_t>(c);
    if (dtype == "u8") return prepare<uint8_t>(c);
    if (dtype == "i32") return prepare<int32_t>(c);
    if (dtype == "i64") return prepare<int64_t>(c);
    throw Skip("this program does not know " + dtype);
}

// ---- Time.

cudaEvent_t before, after_;

/// Of that many calls: the device's time, or, for a latency, the host's until it has the result.
int64_t time(Prepared& run, int64_t calls) {
    if (run.latency) {
        auto start = std::chrono::steady_clock::now();
        for (int64_t i = 0; i < calls; i++) {
            run.call(i);
            run.to_host();
        }
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
    }
    int64_t launches = run.graph ? (calls + GRAPH_CALLS - 1) / GRAPH_CALLS : calls;
    CHECK(cudaEventRecord(before));
    for (int64_t i = 0; i < launches; i++) {
        if (run.graph) CHECK(cudaGraphLaunch(run.graph, cudaStreamPerThread));
        else run.call(i);
    }
    CHECK(cudaEventRecord(after_));
    CHECK(cudaEventSynchronize(after_));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, before, after_));
    double per = run.graph ? double(calls) / double(launches * GRAPH_CALLS) : 1.0;
    return std::llround(ms * 1e6 * per);
}

/// Calls that last a millisecond.
void calibrate(Prepared& run) {
    time(run, 1);
    while (run.calls < MOST_CALLS) {
        auto ns = time(run, run.calls);
        run.ns = ns / run.calls;
        if (ns >= LEAST_NS) break;
        auto guess = int64_t(1.2 * double(run.calls) * LEAST_NS / double(std::max<int64_t>(ns, 1)));
        run.calls = std::min(MOST_CALLS, std::max(2 * run.calls, guess));
    }
}

std::string hello(const std::string& line) {
    auto device = text(line, "device");
    if (device.rfind("cuda", 0) != 0) return "{\"absent\":\"CUB computes on GPUs only\"}";
    auto colon = device.find(':');
    CHECK(cudaSetDevice(colon == std::string::npos ? 0 : std::stoi(device.substr(colon + 1))));
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after_));
    int index;
    cudaDeviceProp properties;
    CHECK(cudaGetDevice(&index));
    CHECK(cudaGetDeviceProperties(&properties, index));
    return "{\"protocol\":" + std::to_string(PROTOCOL) + ",\"name\":\"" + (is_by_key ? "cub-by-key" : "cub") + "\",\"version\":\"" + std::to_string(CCCL_MAJOR_VERSION) + "." +
           std::to_string(CCCL_MINOR_VERSION) + "." + std::to_string(CCCL_PATCH_VERSION) + "\",\"device\":" + quoted(properties.name) + "}";
}

int main(int count, char** words) {
    is_by_key = count > 1 && words[1] == std::string("by-key");
    std::unique_ptr<Prepared> run;
    for (std::string line; std::getline(std::cin, line);) {
        std::string reply;
        try {
            auto word = text(line, "do");
            if (word == "hello") {
                reply = hello(line);
            } else if (word == "prepare") {
                run.reset();
                run = prepare(line);
                if (text(line, "measure") == "graph") run->record();
                calibrate(*run);
                reply = "{\"calls\":" + std::to_string(run->calls) + ",\"cache\":" + quoted(run->cache) + "}";
            } else if (word == "release") {
                run.reset();
                reply = "{\"released\":true}";
            } else if (!run) {
                reply = "{\"error\":\"no case is prepared\"}";
            } else if (word == "sample") {
                auto many = number(line, "samples");
                for (int64_t i = 0; i < many; i++) {
                    if (run->ns < LONG_NS) time(*run, 1);
                    reply += (i ? "," : "") + std::to_string(time(*run, run->calls) / run->calls);
                }
                reply = "{\"ns\":[" + reply + "]}";
            } else if (word == "poison") {
                run->poison();
                reply = "{\"poisoned\":true}";
            } else if (word == "result") {
                if (after(line, "positions").rfind("null", 0) == 0) {
                    reply = run->result(nullptr);
                } else {
                    auto positions = list(line, "positions");
                    reply = run->result(&positions);
                }
            } else {
                reply = "{\"error\":" + quoted("unknown word " + word) + "}";
            }
        } catch (const Skip& why) {
            reply = "{\"skip\":" + quoted(why.what()) + "}";
        } catch (const std::exception& why) {
            reply = (text(line, "do") == "hello" ? "{\"absent\":" : "{\"error\":") + quoted(why.what()) + "}";
        }
        std::cout << reply << std::endl;
    }
}
