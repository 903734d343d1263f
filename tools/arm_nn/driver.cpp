// SPDX-License-Identifier: MIT
// Runs .armnn files on Arm NN's own CpuRef, and writes them again with Arm NN's own serializer.
//
// Usage: driver BACKENDS, where BACKENDS is the folder of the dynamic backend CpuRef. Each line of standard input is
// a job of fields between tabs: the file, the file to write, the number of inputs, that many pairs of a name and a
// file of bytes, and for each output a pair of a name and the file to write. Each job is answered by two lines, which
// begin with "run" and "copy": "done", or "failed" and the reason.
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <armnn/ArmNN.hpp>
#include <armnnDeserializer/IDeserializer.hpp>
#include <armnnSerializer/ISerializer.hpp>

namespace {

using Bytes = std::vector<std::uint8_t>;

// The binding of an input or output is a struct in Arm NN 20.08 and a pair later.
template <typename Binding>
auto IdOf(const Binding& binding, int) -> decltype(binding.m_BindingId) {
    return binding.m_BindingId;
}

template <typename Binding>
auto IdOf(const Binding& binding, long) -> decltype(binding.first) {
    return binding.first;
}

template <typename Binding>
auto InfoOf(const Binding& binding, int) -> decltype(binding.m_TensorInfo) {
    return binding.m_TensorInfo;
}

template <typename Binding>
auto InfoOf(const Binding& binding, long) -> decltype(binding.second) {
    return binding.second;
}

// Arm NN 20.08 does not ask whether a tensor is constant.
template <typename Info>
auto MarkConstant(Info& info, int) -> decltype(info.SetConstant(true)) {
    info.SetConstant(true);
}

template <typename Info>
void MarkConstant(Info&, long) {}

Bytes Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

void Write(const std::string& path, const Bytes& bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

struct Tensor {
    int id;
    armnn::TensorInfo info;
    Bytes bytes;
    std::string path;
};

struct Job {
    std::string source;
    std::string copy;
    std::vector<std::pair<std::string, std::string>> inputs;
    std::vector<std::pair<std::string, std::string>> outputs;
};

Job Parse(const std::string& line) {
    std::vector<std::string> fields;
    std::stringstream stream(line);
    for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
    Job job{fields.at(0), fields.at(1), {}, {}};
    const std::size_t inputs = std::stoul(fields.at(2));
    for (std::size_t at = 3; at + 1 < fields.size(); at += 2) {
        auto& side = job.inputs.size() < inputs ? job.inputs : job.outputs;
        side.emplace_back(fields[at], fields[at + 1]);
    }
    return job;
}

void Copy(const Job& job) {
    auto parser = armnnDeserializer::IDeserializer::Create();
    armnn::INetworkPtr network = parser->CreateNetworkFromBinary(Read(job.source));
    auto serializer = armnnSerializer::ISerializer::Create();
    serializer->Serialize(*network);
    std::ofstream copy(job.copy, std::ios::binary);
    serializer->SaveSerializedToStream(copy);
}

void Run(armnn::IRuntime& runtime, const Job& job) {
    auto parser = armnnDeserializer::IDeserializer::Create();
    armnn::INetworkPtr network = parser->CreateNetworkFromBinary(Read(job.source));
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
    for (const auto& [name, path] : job.inputs) {
        const auto binding = parser->GetNetworkInputBindingInfo(0, name);
        inputs.push_back({IdOf(binding, 0), InfoOf(binding, 0), Read(path), path});
    }
    for (const auto& [name, path] : job.outputs) {
        const auto binding = parser->GetNetworkOutputBindingInfo(0, name);
        const armnn::TensorInfo info = InfoOf(binding, 0);
        outputs.push_back({IdOf(binding, 0), info, Bytes(info.GetNumBytes()), path});
    }
    armnn::IOptimizedNetworkPtr optimized =
        armnn::Optimize(*network, {armnn::BackendId("CpuRef")}, runtime.GetDeviceSpec());
    if (!optimized) throw std::runtime_error("it cannot be optimized");
    armnn::NetworkId id = 0;
    std::string error;
    if (runtime.LoadNetwork(id, std::move(optimized), error) != armnn::Status::Success)
        throw std::runtime_error("it cannot be loaded: " + error);
    armnn::InputTensors given;
    armnn::OutputTensors made;
    for (Tensor& tensor : inputs) {
        if (tensor.bytes.size() != tensor.info.GetNumBytes()) throw std::runtime_error("an input has another size");
        MarkConstant(tensor.info, 0);
        given.push_back({tensor.id, armnn::ConstTensor(tensor.info, tensor.bytes.data())});
    }
    for (Tensor& tensor : outputs) made.push_back({tensor.id, armnn::Tensor(tensor.info, tensor.bytes.data())});
    const armnn::Status status = runtime.EnqueueWorkload(id, given, made);
    runtime.UnloadNetwork(id);
    if (status != armnn::Status::Success) throw std::runtime_error("it cannot be run");
    for (const Tensor& tensor : outputs) Write(tensor.path, tensor.bytes);
}

// Does one half of a job and answers with a line.
template <typename Half>
void Answer(const char* what, Half half) {
    std::string outcome = "done";
    try {
        half();
    } catch (const std::exception& error) {
        outcome = std::string("failed ") + error.what();
        for (char& letter : outcome)
            if (letter == '\n') letter = ' ';
    }
    std::cout << what << ' ' << outcome << std::endl;
}

}  // namespace

int main(int, char** arguments) {
    armnn::IRuntime::CreationOptions options;
    options.m_DynamicBackendsPath = arguments[1];
    armnn::IRuntimePtr runtime = armnn::IRuntime::Create(options);
    for (std::string line; std::getline(std::cin, line);) {
        const Job job = Parse(line);
        Answer("run", [&] { Run(*runtime, job); });
        Answer("copy", [&] { Copy(job); });
    }
    return 0;
}
