/** The program of a pre-training bundle: the stages, without the other commands. */
import { pretrainCommand } from '../../services/cli/src/commands/pretrain';

void pretrainCommand().parseAsync();
