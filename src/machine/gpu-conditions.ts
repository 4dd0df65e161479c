/** Graphics processors as far as `/proc` and `/sys` tell: which, by what driver, under what limits, how warm. */
import { list, readText } from './fingerprint.js';

const DRM = '/sys/class/drm';
const NVIDIA = '/proc/driver/nvidia';

const cards = (): string[] => list(DRM).filter((name) => /^card\d+$/.test(name));

/** A file of each card, in the order of the cards; null when no card has it. */
function ofCards(file: string): string | null {
  const values = cards().map((card) => readText(`${DRM}/${card}/device/${file}`));
  return values.some((value) => value !== null) ? values.map((value) => value ?? '-').join(', ') : null;
}

/** A file of the sensors of each card. */
function ofSensors(file: string): string[] {
  return cards().flatMap((card) => {
    const folder = `${DRM}/${card}/device/hwmon`;
    return list(folder).flatMap((sensor) => readText(`${folder}/${sensor}/${file}`) ?? []);
  });
}

/** A field of `/proc/driver/nvidia/gpus/*`, which says question marks while a card sleeps. Pure. */
export function nvidiaField(information: string, field: string): string | undefined {
  const value = new RegExp(`^${field}:\\s*(.*)$`, 'm').exec(information)?.[1]?.trim();
  return value?.includes('?') ? undefined : value;
}

/** A field of each card of NVIDIA. Serial numbers and unique ids stay untold. */
const nvidiaCards = (field: string): string[] =>
  list(`${NVIDIA}/gpus`).flatMap(
    (address) => nvidiaField(readText(`${NVIDIA}/gpus/${address}/information`) ?? '', field) ?? [],
  );

const listed = (values: readonly string[]): string | null => (values.length === 0 ? null : values.join(', '));

/** Vendor and device of each card, and where it sits on the bus. */
function gpuList(): string {
  const drawn = cards().flatMap((card) => {
    const folder = `${DRM}/${card}/device`;
    const [vendor, device] = [readText(`${folder}/vendor`), readText(`${folder}/device`)];
    const slot = /^PCI_SLOT_NAME=(.*)$/m.exec(readText(`${folder}/uevent`) ?? '')?.[1];
    return vendor === null || device === null ? [] : [`${vendor}:${device}@${slot ?? '-'}`];
  });
  const nvidia = list(`${NVIDIA}/gpus`).map((address) => `nvidia@${address}`);
  return [...drawn, ...nvidia, ...nvidiaCards('Model')].join(', ') || 'none';
}

/** The version in the text of `/proc/driver/nvidia/version`, of the closed and of the open kernel module. Pure. */
export const nvidiaDriver = (text: string): string | undefined =>
  /Kernel Module\s+(?:for \S+\s+)?(\d[\w.]*)/.exec(text)?.[1];

function driver(): string | null {
  const nvidia = nvidiaDriver(readText(`${NVIDIA}/version`) ?? '');
  const amd = readText('/sys/module/amdgpu/version');
  const kfd = readText('/sys/class/kfd/kfd/topology/system_properties');
  return listed([
    ...(nvidia === undefined ? [] : [`nvidia ${nvidia}`]),
    ...(amd === null ? [] : [`amdgpu ${amd}`]),
    ...(kfd === null ? [] : ['kfd']),
  ]);
}

/** `gpu.*` of the conditions, and the warmest card in degrees Celsius. */
export function gpuConditions(): Record<string, string | null> {
  const temperatures = ofSensors('temp1_input').map(Number).filter(Number.isFinite);
  return {
    'gpu.list': gpuList(),
    'gpu.driver': driver(),
    'gpu.vbios': listed([...(ofCards('vbios_version')?.split(', ') ?? []), ...nvidiaCards('Video BIOS')]),
    'gpu.firmware': listed(nvidiaCards('GPU Firmware')),
    'gpu.memory': ofCards('mem_info_vram_total'),
    'gpu.powerCap': listed(ofSensors('power1_cap')),
    'gpu.performanceLevel': ofCards('power_dpm_force_performance_level'),
    'gpu.link': ofCards('current_link_speed'),
    'gpu.memoryUsed': ofCards('mem_info_vram_used'),
    'start.gpuTemperature': temperatures.length === 0 ? null : (Math.max(...temperatures) / 1000).toFixed(1),
  };
}
